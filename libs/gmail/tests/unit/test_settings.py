import pytest

from mailroom_common.errors import SettingsError
from mailroom_common.settings import load_settings
from mailroom_gmail.settings import GmailSettings, normalize_address


def test_addresses_lose_their_trailing_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_GMAIL_URL", "https://gmail.example/")
    assert load_settings(GmailSettings).gmail_url == "https://gmail.example"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A.Da@gmail.com", "ada@gmail.com"),
        ("ada@googlemail.com", "ada@gmail.com"),
        ("ada+bills@gmail.com", "ada@gmail.com"),
        ("ap+bills@Acme.example", "ap@acme.example"),
    ],
)
def test_spellings_of_one_mailbox_are_equal(one: str, other: str) -> None:
    assert normalize_address(one) == normalize_address(other)


@pytest.mark.parametrize(("one", "other"), [("a.da@acme.example", "ada@acme.example"), ("a@gmail.com", "b@gmail.com")])
def test_dots_of_a_workspace_address_and_other_names_are_other_mailboxes(one: str, other: str) -> None:
    assert normalize_address(one) != normalize_address(other)


@pytest.mark.parametrize(("given", "missing"), [("ID", "SECRET"), ("SECRET", "ID")])
def test_half_a_client_is_a_fault(monkeypatch: pytest.MonkeyPatch, given: str, missing: str) -> None:
    monkeypatch.delenv(f"MAILROOM_GOOGLE_CLIENT_{missing}", raising=False)
    monkeypatch.setenv(f"MAILROOM_GOOGLE_CLIENT_{given}", "canary")
    with pytest.raises(SettingsError) as refusal:
        load_settings(GmailSettings)
    assert str(refusal.value) == f"Gmail is not set up: MAILROOM_GOOGLE_CLIENT_{missing} is missing."
