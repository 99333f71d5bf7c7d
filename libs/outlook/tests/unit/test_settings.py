import pytest

from mailroom_common.settings import load_settings
from mailroom_outlook.settings import OutlookSettings


def test_addresses_lose_their_trailing_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_GRAPH_URL", "https://graph.example/v1.0/")
    assert load_settings(OutlookSettings).graph_url == "https://graph.example/v1.0"
