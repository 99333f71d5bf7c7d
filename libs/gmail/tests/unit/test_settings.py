import pytest

from mailroom_common.settings import load_settings
from mailroom_gmail.settings import GmailSettings


def test_addresses_lose_their_trailing_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_GMAIL_URL", "https://gmail.example/")
    assert load_settings(GmailSettings).gmail_url == "https://gmail.example"
