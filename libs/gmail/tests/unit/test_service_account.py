from typing import Any

import httpx
import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mailroom_common.errors import AccessDenied, ProviderUnavailable, SettingsError
from mailroom_common.providers.types import Mailbox
from mailroom_gmail.service_account import GoogleServiceAccount

READONLY = "https://www.googleapis.com/auth/gmail.readonly"


def test_key_that_is_none_names_the_setting_and_repeats_nothing(http: httpx.AsyncClient) -> None:
    for key in ("canary", "[]", '{"client_email": "canary"}'):
        with pytest.raises(SettingsError, match="MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY") as caught:
            GoogleServiceAccount(key, token_url="https://x/token", http=http)
        assert "canary" not in str(caught.value)


@pytest.fixture
def account(http: httpx.AsyncClient) -> GoogleServiceAccount:
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    key = orjson.dumps({"client_email": "sa@p.example", "private_key": pem, "private_key_id": "kid-1"}).decode()
    return GoogleServiceAccount(key, token_url="https://double.example/token", http=http)


async def test_service_account_asserts_the_mailboxs_user_for_the_profiles_scope(
    account: GoogleServiceAccount, wire: Any, gmail: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json={"access_token": "at", "expires_in": 3600}))
    assert (await account.issue_token(gmail)).access_token == "at"
    assertion = httpx.QueryParams(wire.requests[0].content.decode())["assertion"]
    claims = jwt.decode(assertion, options={"verify_signature": False})
    assert (claims["iss"], claims["sub"], claims["scope"]) == ("sa@p.example", "ap@example.org", READONLY)
    assert claims["aud"] == "https://oauth2.googleapis.com/token"
    assert str(wire.requests[0].url) == "https://double.example/token"


@pytest.mark.parametrize(
    ("status", "error", "raised"),
    [(401, "unauthorized_client", AccessDenied), (400, "invalid_grant", AccessDenied), (400, "x", ProviderUnavailable)],
)
async def test_missing_delegation_is_an_administrators_to_mend(
    account: GoogleServiceAccount, wire: Any, gmail: Mailbox, status: int, error: str, raised: type[Exception]
) -> None:
    wire.plays(httpx.Response(status, json={"error": error}))
    with pytest.raises(raised):
        await account.issue_token(gmail)
