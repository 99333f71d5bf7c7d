import time
from typing import Any

import httpx
import jwt
import pytest
from pydantic import SecretStr

from mailroom_common.errors import ProviderUnavailable, Rejected, Throttled, TokenRefused
from mailroom_common.events import Profile
from mailroom_common.providers.types import Grant, Mailbox
from mailroom_gmail.consent import GoogleIdentity
from mailroom_gmail.settings import GmailSettings

READONLY = "https://www.googleapis.com/auth/gmail.readonly"
METADATA = "https://www.googleapis.com/auth/gmail.metadata"


@pytest.fixture
def google(http: httpx.AsyncClient) -> GoogleIdentity:
    settings = GmailSettings(google_client_id="client-1", google_client_secret=SecretStr("secret-canary"))
    return GoogleIdentity(settings, http)


def id_token(**changed: object) -> str:
    claims = {
        "iss": "https://accounts.google.com",
        "aud": "client-1",
        "sub": "1122",
        "exp": int(time.time()) + 3600,
        "nonce": "n-1",
        "hd": "example.org",
    }
    kept = {name: value for name, value in (claims | changed).items() if value is not None}
    return jwt.encode(kept, "any key: TLS stands for the signature", algorithm="HS256")


def answer(**changed: object) -> httpx.Response:
    payload = {
        "access_token": "access-canary",
        "refresh_token": "rt",
        "expires_in": 3599,
        "scope": f"openid email {READONLY}",
        "id_token": id_token(),
    }
    return httpx.Response(200, json={name: value for name, value in (payload | changed).items() if value is not None})


async def exchange(google: GoogleIdentity, profile: Profile = Profile.INVOICE) -> Grant:
    return await google.exchange_code(
        None, profile=profile, code="c", redirect_uri="https://m/cb", code_verifier="v", nonce="n-1"
    )


async def test_grant_carries_who_and_for_how_long(google: GoogleIdentity, wire: Any) -> None:
    wire.plays(answer(id_token=id_token(iss="accounts.google.com")))
    grant = await exchange(google)
    assert (grant.access_token, grant.refresh_token, grant.id_claims["sub"]) == ("access-canary", "rt", "1122")
    assert "access-canary" not in repr(grant)
    sent = dict(httpx.QueryParams(wire.requests[0].content.decode()))
    assert (sent["grant_type"], sent["code_verifier"]) == ("authorization_code", "v")


@pytest.mark.parametrize(
    "changed",
    [
        {"id_token": None},
        {"id_token": "no.jwt"},
        {"id_token": id_token(iss="https://evil.example")},
        {"id_token": id_token(aud="another-client")},
        {"id_token": id_token(exp=int(time.time()) - 3600)},
        {"id_token": id_token(nonce="another")},
        {"id_token": id_token(nonce=None)},
        {"id_token": id_token(sub=None)},
        {"refresh_token": None},
        {"scope": "openid email"},
        {"scope": f"{READONLY} {METADATA}"},
    ],
)
async def test_sign_in_that_is_not_what_it_must_be_is_rejected(
    google: GoogleIdentity, wire: Any, changed: dict[str, object]
) -> None:
    wire.plays(answer(**changed))
    with pytest.raises(Rejected):
        await exchange(google)


async def test_observation_wants_metadata_alone(google: GoogleIdentity, wire: Any) -> None:
    wire.plays(answer(scope=f"openid {METADATA}"), answer())
    await exchange(google, Profile.OBSERVATION)
    with pytest.raises(Rejected, match=r"gmail\.metadata"):
        await exchange(google, Profile.OBSERVATION)


async def test_page_asks_for_offline_access_with_consent_each_time(google: GoogleIdentity) -> None:
    page = httpx.URL(
        await google.build_authorize_url(
            None,
            profile=Profile.INVOICE,
            redirect_uri="https://m/cb",
            state="s",
            nonce="n",
            code_challenge="cc",
            login_hint="ap@example.org",
        )
    )
    assert page.host == "accounts.google.com"
    assert {"access_type": "offline", "prompt": "consent", "code_challenge_method": "S256"}.items() <= dict(
        page.params
    ).items()
    assert page.params["scope"] == f"openid email {READONLY}"
    assert "include_granted_scopes" not in page.params


@pytest.mark.parametrize(
    ("status", "payload", "error"),
    [
        (400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}, TokenRefused),
        (400, {"error": "invalid_grant", "error_subtype": "invalid_rapt"}, TokenRefused),
        (401, {"error": "invalid_client"}, ProviderUnavailable),
        (400, {"error": "invalid_scope"}, ProviderUnavailable),
        (429, {}, Throttled),
        (503, {"error": "server_error"}, ProviderUnavailable),
        (302, {}, ProviderUnavailable),
        (200, {"expires_in": 1}, ProviderUnavailable),
    ],
)
async def test_refusals_of_a_refresh_mean(
    google: GoogleIdentity, wire: Any, gmail: Mailbox, status: int, payload: dict[str, object], error: type[Exception]
) -> None:
    wire.plays(httpx.Response(status, json=payload))
    with pytest.raises(error) as caught:
        await google.refresh_grant(gmail, "rt-canary")
    assert "canary" not in str(caught.value)
    assert "expired or revoked" not in str(caught.value)


@pytest.mark.parametrize(("status", "payload"), [(200, {}), (400, {"error": "invalid_token"})])
async def test_revocation_reaches_its_aim(
    google: GoogleIdentity, wire: Any, status: int, payload: dict[str, str]
) -> None:
    wire.plays(httpx.Response(status, json=payload))
    await google.revoke_grant("rt")
    assert str(wire.requests[0].url) == "https://oauth2.googleapis.com/revoke"
    assert wire.requests[0].content == b"token=rt"


async def test_revocation_that_failed_is_told(google: GoogleIdentity, wire: Any) -> None:
    wire.plays(httpx.Response(503))
    with pytest.raises(ProviderUnavailable):
        await google.revoke_grant("rt")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (httpx.Response(400, json={}), Rejected),
        (httpx.Response(503), ProviderUnavailable),
        (httpx.Response(200, json={"historyId": "1"}), ProviderUnavailable),
    ],
)
async def test_account_without_a_mailbox_is_rejected_and_trouble_is_not(
    google: GoogleIdentity, wire: Any, response: httpx.Response, error: type[Exception]
) -> None:
    wire.plays(answer(), response)
    grant = await exchange(google)
    with pytest.raises(error):
        await google.identify_account(None, grant)
