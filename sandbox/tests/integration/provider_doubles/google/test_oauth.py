"""Google OAuth: when a refresh token comes, why it dies, and what a service account may do."""

import base64
import hashlib
import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography import x509

from mailroom_sandbox.provider_doubles.client import ControlError, answer_consent_page
from mailroom_sandbox.provider_doubles.google import oauth
from mailroom_sandbox.testkit.mailbox_users import (
    GMAIL,
    READONLY,
    MailboxUser,
    build_google_authorize_url,
    obtain_code,
    request_google_token,
    sign_in_gmail_user,
)
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders, running_providers

METADATA = "https://www.googleapis.com/auth/gmail.metadata"


async def test_consent_gives_tokens_that_name_the_person(providers: RunningProviders, gmail: MailboxUser) -> None:
    assert gmail.tokens.keys() == {
        "access_token",
        "expires_in",
        "scope",
        "token_type",
        "refresh_token",
        "id_token",
    }
    keys = (await providers.http.get(providers.at.google_certs_url)).json()
    signing = jwt.PyJWKSet.from_dict(keys).keys[0]
    claims = jwt.decode(
        gmail.tokens["id_token"], signing, algorithms=["RS256"], audience=providers.settings.google_client_id
    )
    assert (claims["iss"], claims["email"], claims["email_verified"]) == ("https://accounts.google.com", GMAIL, True)
    assert (await gmail.get_json("/profile"))["emailAddress"] == GMAIL


async def test_certificates_come_as_keys_and_as_pem_of_the_same_key(providers: RunningProviders) -> None:
    keys = (await providers.http.get(providers.at.google_certs_url)).json()["keys"]
    pems = (await providers.http.get(providers.at.google_certs_url.replace("v3", "v1"))).json()
    assert [key["kid"] for key in keys] == list(pems)
    public = x509.load_pem_x509_certificate(pems[keys[0]["kid"]].encode()).public_key()
    assert public == jwt.PyJWK(keys[0]).key


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"access_type": "online", "prompt": "consent"}, {"access_type": "online", "prompt": "consent"}),
        ({"access_type": "online", "prompt": "select_account"}, {}),
    ],
)
async def test_no_refresh_token_without_offline(
    providers: RunningProviders, first: dict[str, str], again: dict[str, str]
) -> None:
    assert "refresh_token" not in (await sign_in_gmail_user(providers, **first)).tokens
    if again:
        assert "refresh_token" not in (await sign_in_gmail_user(providers, **again)).tokens


async def test_offline_alone_gives_a_refresh_token_the_first_time_only(providers: RunningProviders) -> None:
    quiet = {"access_type": "offline", "prompt": "select_account"}
    assert "refresh_token" in (await sign_in_gmail_user(providers, **quiet)).tokens
    assert "refresh_token" not in (await sign_in_gmail_user(providers, **quiet)).tokens
    assert "refresh_token" in (await sign_in_gmail_user(providers)).tokens


async def test_refresh_does_not_rotate(providers: RunningProviders, gmail: MailboxUser) -> None:
    fields = {"grant_type": "refresh_token", "refresh_token": gmail.tokens["refresh_token"]}
    first, second = await request_google_token(providers, **fields), await request_google_token(providers, **fields)
    assert "refresh_token" not in first.json()
    assert first.json()["access_token"] != second.json()["access_token"]


async def test_person_can_untick_a_scope(providers: RunningProviders) -> None:
    code = await obtain_code(providers, build_google_authorize_url(providers), without_scopes=[READONLY])
    answer = await request_google_token(providers, grant_type="authorization_code", code=code)
    assert READONLY not in answer.json()["scope"].split()
    person = MailboxUser(providers.http, f"{providers.at.gmail_url}/gmail/v1/users/me", answer.json())
    refused = await person.get_json("/profile", status=403)
    assert refused["error"]["details"][0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"


async def test_declined_consent_goes_back_with_its_state(providers: RunningProviders) -> None:
    back = parse_qs(
        urlsplit(await answer_consent_page(providers.http, build_google_authorize_url(providers), accept=False)).query
    )
    assert back == {"state": ["state-1"], "error": ["access_denied"]}


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://stranger.example/"},
        {"client_id": "somebody"},
        {"scope": "everything"},
        {"response_type": "token"},
    ],
)
async def test_wrong_authorize_request_stays_on_googles_page(
    providers: RunningProviders, changed: dict[str, str]
) -> None:
    with pytest.raises(ControlError, match="Error 40"):
        await answer_consent_page(providers.http, build_google_authorize_url(providers, **changed))


async def test_code_needs_its_verifier_and_is_good_once(providers: RunningProviders) -> None:
    verifier = "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    code = await obtain_code(
        providers, build_google_authorize_url(providers, code_challenge=challenge, code_challenge_method="S256")
    )
    fields = {"grant_type": "authorization_code", "code": code}
    assert (await request_google_token(providers, **fields)).json()["error"] == "invalid_grant"
    assert (await request_google_token(providers, **fields, code_verifier=verifier)).status_code == 200
    again = await request_google_token(providers, **fields, code_verifier=verifier)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"client_secret": "guess"}, 401, "invalid_client"),
        ({"client_id": "somebody"}, 401, "invalid_client"),
        ({"refresh_token": "guess"}, 400, "invalid_grant"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
    ],
)
async def test_token_endpoint_says_no(
    providers: RunningProviders, fields: dict[str, str], status: int, error: str
) -> None:
    answer = await request_google_token(providers, **{"grant_type": "refresh_token", **fields})
    assert (answer.status_code, answer.json()["error"]) == (status, error)


async def test_code_belongs_to_its_redirect_address(providers: RunningProviders) -> None:
    code = await obtain_code(providers, build_google_authorize_url(providers))
    answer = await request_google_token(
        providers, grant_type="authorization_code", code=code, redirect_uri=REDIRECT_URIS[0]
    )
    assert answer.json()["error"] == "redirect_uri_mismatch"


async def test_revoke_ends_every_token_of_the_user_and_client(providers: RunningProviders, gmail: MailboxUser) -> None:
    other = await sign_in_gmail_user(providers)
    url = f"{providers.at.gmail_url}/revoke"
    assert (await providers.http.post(url, data={"token": gmail.tokens["refresh_token"]})).status_code == 200
    for person in (gmail, other):
        assert (await person.get_json("/profile", status=401))["error"]["errors"][0]["reason"] == "authError"
        refreshed = await request_google_token(
            providers, grant_type="refresh_token", refresh_token=person.tokens["refresh_token"]
        )
        assert refreshed.json() == {
            "error": "invalid_grant",
            "error_description": "Token has been expired or revoked.",
        }
    again = await providers.http.post(url, data={"token": gmail.tokens["refresh_token"]})
    assert (again.status_code, again.json()["error"]) == (400, "invalid_token")


async def test_hundred_and_first_refresh_token_pushes_out_the_oldest(
    providers: RunningProviders, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert oauth.MAX_REFRESH_TOKENS == 100
    monkeypatch.setattr(oauth, "MAX_REFRESH_TOKENS", 3)  # a hundred consents take the machine ten seconds
    people = [await sign_in_gmail_user(providers) for _ in range(4)]
    fields = [{"grant_type": "refresh_token", "refresh_token": one.tokens["refresh_token"]} for one in people]
    assert (await request_google_token(providers, **fields[0])).json()["error"] == "invalid_grant"
    assert (await request_google_token(providers, **fields[1])).status_code == 200


async def test_unavailable_token_endpoint_is_no_verdict_on_the_grant(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    await providers.control.set_fault("unavailable", mailbox=GMAIL, status=503, times=1)
    fields = {"grant_type": "refresh_token", "refresh_token": gmail.tokens["refresh_token"]}
    answer = await request_google_token(providers, **fields)
    assert (answer.status_code, answer.json()["error"]) == (503, "server_error")
    assert (await request_google_token(providers, **fields)).status_code == 200


def assertion(providers: RunningProviders, **changed: object) -> dict[str, str]:
    account = json.loads((providers.settings.state / oauth.SERVICE_ACCOUNT_FILE).read_text())
    now = datetime.now(UTC)
    claims = {
        "iss": account["client_email"],
        "sub": GMAIL,
        "scope": READONLY,
        "aud": "https://oauth2.googleapis.com/token",
        "iat": now,
        "exp": now + timedelta(hours=1),
        **changed,
    }
    signed = jwt.encode(claims, account["private_key"], algorithm="RS256")
    return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": signed}


async def test_service_account_acts_for_a_user_of_its_domain(providers: RunningProviders) -> None:
    answer = await providers.http.post(providers.at.google_token_url, data=assertion(providers))
    assert answer.json().keys() == {"access_token", "expires_in", "token_type"}
    person = MailboxUser(providers.http, f"{providers.at.gmail_url}/gmail/v1/users/{GMAIL}", answer.json())
    assert (await person.get_json("/profile"))["emailAddress"] == GMAIL
    own_address = assertion(providers, aud=providers.at.google_token_url)
    assert (await providers.http.post(providers.at.google_token_url, data=own_address)).status_code == 200


@pytest.mark.parametrize(
    ("changed", "status", "error"),
    [
        ({"scope": "https://www.googleapis.com/auth/calendar"}, 401, "unauthorized_client"),
        ({"sub": "nobody@mail.example"}, 400, "invalid_grant"),
        ({"aud": "https://elsewhere.example/token"}, 400, "invalid_grant"),
        ({"exp": datetime(2020, 1, 1, tzinfo=UTC)}, 400, "invalid_grant"),
        ({"iss": "somebody@else.example"}, 400, "invalid_grant"),
    ],
)
async def test_service_account_is_refused(
    providers: RunningProviders, changed: dict[str, object], status: int, error: str
) -> None:
    answer = await providers.http.post(providers.at.google_token_url, data=assertion(providers, **changed))
    assert (answer.status_code, answer.json()["error"]) == (status, error)


async def test_refresh_token_dies_of_half_a_year_of_silence(folder: Path) -> None:
    times = [datetime.now(UTC)]
    async with running_providers(folder, now=lambda: times[-1]) as providers:
        await providers.control.find_or_create_mailbox("gmail", GMAIL)
        person = await sign_in_gmail_user(providers)
        times.append(times[0] + timedelta(days=184))
        answer = await request_google_token(
            providers, grant_type="refresh_token", refresh_token=person.tokens["refresh_token"]
        )
        assert answer.json()["error"] == "invalid_grant"


async def test_stranger_certificate_authority_does_not_trust_the_providers(providers: RunningProviders) -> None:
    async with httpx.AsyncClient(verify=ssl.create_default_context(), trust_env=False) as stranger:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await stranger.get(providers.at.google_certs_url)
