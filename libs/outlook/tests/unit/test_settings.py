import pytest

from mailroom_common.errors import SettingsError
from mailroom_common.settings import load_settings
from mailroom_outlook.settings import OutlookSettings


def test_addresses_lose_their_trailing_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_GRAPH_URL", "https://graph.example/v1.0/")
    assert load_settings(OutlookSettings).graph_url == "https://graph.example/v1.0"


@pytest.mark.parametrize(("given", "missing"), [("ID", "SECRET"), ("SECRET", "ID")])
def test_half_a_client_is_a_fault(monkeypatch: pytest.MonkeyPatch, given: str, missing: str) -> None:
    monkeypatch.delenv(f"MAILROOM_MICROSOFT_CLIENT_{missing}", raising=False)
    monkeypatch.setenv(f"MAILROOM_MICROSOFT_CLIENT_{given}", "canary")
    with pytest.raises(SettingsError) as refusal:
        load_settings(OutlookSettings)
    assert str(refusal.value) == f"Outlook is not set up: MAILROOM_MICROSOFT_CLIENT_{missing} is missing."
