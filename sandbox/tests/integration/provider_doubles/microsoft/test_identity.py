"""The Microsoft identity platform: who gets which token, and with which words the rest is refused."""

import asyncio
import base64
import hashlib
import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import msal
import pytest

from mailroom_sandbox.provider_doubles.client import ControlError, answer_consent_page
from mailroom_sandbox.testkit.mailbox_users import (
    OUTLOOK,
    MailboxUser,
    build_microsoft_authorize_url,
    obtain_code,
    request_microsoft_token,
    sign_in_outlook_user,
)
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders, running_providers

TOKEN_MEMBERS = {"token_type", "scope", "expires_in", "ext_expires_in", "access_token"}
ERROR_MEMBERS = {"error", "error_description", "error_codes", "timestamp", "trace_id", "correlation_id"}


def refusal(answer: httpx.Response) -> tuple[int, str, int]:
    body = answer.json()
    assert body.keys() >= ERROR_MEMBERS
    (number,) = body["error_codes"]
    assert body["error_description"].startswith(f"AADSTS{number}: ")
    assert datetime.strptime(body["timestamp"], "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC)
    return answer.status_code, body["error"], number


async def test_configuration_names_what_clients_need(providers: RunningProviders) -> None:
    answer = await providers.http.get(f"{providers.at.authority}/common/v2.0/.well-known/openid-configuration")
    found = answer.json()
    assert found["issuer"] == f"{providers.at.authority}/{{tenantid}}/v2.0"
    assert found["authorization_endpoint"].endswith("/common/oauth2/v2.0/authorize")
    assert found["token_endpoint"].endswith("/common/oauth2/v2.0/token")
    keys = (await providers.http.get(found["jwks_uri"])).json()["keys"]
    assert {"kty", "kid", "n", "e", "use"} <= keys[0].keys()


async def test_configuration_of_an_unknown_tenant_is_refused(providers: RunningProviders) -> None:
    answer = await providers.http.get(f"{providers.at.authority}/nobody.example/v2.0/.well-known/openid-configuration")
    assert refusal(answer) == (400, "invalid_tenant", 90002)


async def test_consent_gives_tokens_that_name_the_person(providers: RunningProviders, outlook: MailboxUser) -> None:
    assert outlook.tokens.keys() == TOKEN_MEMBERS | {"refresh_token", "id_token"}
    assert outlook.tokens["scope"].split() == ["Mail.Read", "User.Read", "openid", "profile"]
    keys = (await providers.http.get(f"{providers.at.authority}/common/discovery/v2.0/keys")).json()
    signing = jwt.PyJWKSet.from_dict(keys).keys[0]
    claims = jwt.decode(
        outlook.tokens["id_token"], signing, algorithms=["RS256"], audience=providers.settings.microsoft_client_id
    )
    assert claims["iss"] == f"{providers.at.authority}/{claims['tid']}/v2.0"
    assert (claims["preferred_username"], claims["nonce"]) == (OUTLOOK, "nonce-1")
    assert claims["oid"] == (await outlook.get_json("/me"))["id"]


async def test_scopes_may_be_named_by_their_whole_address(providers: RunningProviders) -> None:
    person = await sign_in_outlook_user(providers, scope="https://graph.microsoft.com/Mail.Read offline_access")
    assert person.tokens["scope"] == "Mail.Read"
    assert "id_token" not in person.tokens
    await person.get_json("/me/messages")


async def test_no_refresh_token_without_offline_access(providers: RunningProviders) -> None:
    person = await sign_in_outlook_user(providers, scope="openid Mail.Read")
    assert "refresh_token" not in person.tokens


async def test_declined_consent_goes_back_with_state_and_no_code(providers: RunningProviders) -> None:
    back = parse_qs(
        urlsplit(
            await answer_consent_page(providers.http, build_microsoft_authorize_url(providers), accept=False)
        ).query
    )
    assert (back["error"], back["state"]) == (["access_denied"], ["state-1"])
    assert "code" not in back


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "Mail.Read Mail.Fly"}, "invalid_scope"),
        ({"prompt": "none"}, "login_required"),
        ({"code_challenge": "x", "code_challenge_method": "S512"}, "invalid_request"),
    ],
)
async def test_wrong_authorize_request_goes_back_with_its_error(
    providers: RunningProviders, changed: dict[str, str], error: str
) -> None:
    back = parse_qs(
        urlsplit(await answer_consent_page(providers.http, build_microsoft_authorize_url(providers, **changed))).query
    )
    assert (back["error"], back["state"]) == ([error], ["state-1"])


@pytest.mark.parametrize("changed", [{"redirect_uri": "https://stranger.example/"}, {"client_id": "somebody"}])
async def test_nobody_is_sent_to_an_address_that_is_not_registered(
    providers: RunningProviders, changed: dict[str, str]
) -> None:
    with pytest.raises(ControlError, match="AADSTS"):
        await answer_consent_page(providers.http, build_microsoft_authorize_url(providers, **changed))


async def test_page_shows_hostile_parameters_as_text(providers: RunningProviders) -> None:
    page = await providers.http.get(build_microsoft_authorize_url(providers, state='"><script>alert(1)</script>'))
    assert "<script>" not in page.text


async def test_answer_modes_of_authorize(providers: RunningProviders) -> None:
    fragment = urlsplit(
        await answer_consent_page(providers.http, build_microsoft_authorize_url(providers, response_mode="fragment"))
    )
    assert "code=" in fragment.fragment
    assert not fragment.query
    with pytest.raises(ControlError, match='form method="post"'):
        await answer_consent_page(providers.http, build_microsoft_authorize_url(providers, response_mode="form_post"))


async def test_code_is_good_once(providers: RunningProviders) -> None:
    code = await obtain_code(providers, build_microsoft_authorize_url(providers))
    assert (await request_microsoft_token(providers, grant_type="authorization_code", code=code)).status_code == 200
    again = await request_microsoft_token(providers, grant_type="authorization_code", code=code)
    assert refusal(again) == (400, "invalid_grant", 54005)


async def test_code_needs_its_verifier(providers: RunningProviders) -> None:
    verifier = "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    page = build_microsoft_authorize_url(providers, code_challenge=challenge, code_challenge_method="S256")
    code = await obtain_code(providers, page)
    for wrong in ({}, {"code_verifier": "w" * 64}):
        answer = await request_microsoft_token(providers, grant_type="authorization_code", code=code, **wrong)
        assert refusal(answer) == (400, "invalid_grant", 501481)
    answer = await request_microsoft_token(
        providers, grant_type="authorization_code", code=code, code_verifier=verifier
    )
    assert answer.status_code == 200


async def test_code_belongs_to_its_address_and_tenant(providers: RunningProviders) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@other.example")
    code = await obtain_code(providers, build_microsoft_authorize_url(providers))
    fields = {"grant_type": "authorization_code", "code": code}
    elsewhere = await request_microsoft_token(providers, **{**fields, "redirect_uri": REDIRECT_URIS[1]})
    assert refusal(elsewhere)[1] == "invalid_grant"
    foreign = await request_microsoft_token(providers, "other.example", **fields)
    assert refusal(foreign) == (400, "invalid_grant", 700005)


async def test_client_proves_itself_in_body_or_header(providers: RunningProviders) -> None:
    code = await obtain_code(providers, build_microsoft_authorize_url(providers))
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URIS[0]}
    url = f"{providers.at.authority}/common/oauth2/v2.0/token"
    name, secret = providers.settings.microsoft_client_id, providers.settings.microsoft_client_secret.get_secret_value()
    wrong = await providers.http.post(url, data=form, auth=(name, "guess"))
    assert refusal(wrong) == (401, "invalid_client", 7000215)
    none = await providers.http.post(url, data={**form, "client_id": name})
    assert refusal(none) == (401, "invalid_client", 7000218)
    assert (await providers.http.post(url, data=form, auth=(name, secret))).status_code == 200


async def test_refresh_gives_a_new_token_and_leaves_the_old_alive(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    old = outlook.tokens["refresh_token"]
    first = await request_microsoft_token(providers, grant_type="refresh_token", refresh_token=old)
    second = await request_microsoft_token(providers, grant_type="refresh_token", refresh_token=old)
    assert (first.status_code, second.status_code) == (200, 200)
    assert len({old, first.json()["refresh_token"], second.json()["refresh_token"]}) == 3


async def test_strict_rotation_refuses_a_used_refresh_token(folder: Path) -> None:
    async with running_providers(folder, refresh_tokens_rotate=True) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        fields = {"grant_type": "refresh_token", "refresh_token": person.tokens["refresh_token"]}
        assert (await request_microsoft_token(providers, **fields)).status_code == 200
        assert refusal(await request_microsoft_token(providers, **fields)) == (400, "invalid_grant", 70000)


async def test_refresh_cannot_widen_the_scopes(providers: RunningProviders) -> None:
    person = await sign_in_outlook_user(providers, scope="openid offline_access Mail.ReadBasic")
    fields = {"grant_type": "refresh_token", "refresh_token": person.tokens["refresh_token"]}
    assert refusal(await request_microsoft_token(providers, **fields, scope="Mail.Read")) == (
        400,
        "invalid_grant",
        65001,
    )
    assert (
        await request_microsoft_token(providers, **fields, scope="Mail.ReadBasic offline_access")
    ).status_code == 200


async def test_refresh_token_dies_of_ninety_days_of_silence(folder: Path) -> None:
    today = datetime.now(UTC)
    times = [today]
    async with running_providers(folder, now=lambda: times[-1]) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        times.append(today + timedelta(days=91))
        answer = await request_microsoft_token(
            providers, grant_type="refresh_token", refresh_token=person.tokens["refresh_token"]
        )
        assert refusal(answer) == (400, "invalid_grant", 700082)


async def test_revoked_grant_ends_refresh_and_lets_the_access_token_run_out(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    assert await providers.control.revoke_grants(OUTLOOK) == 1
    answer = await request_microsoft_token(
        providers, grant_type="refresh_token", refresh_token=outlook.tokens["refresh_token"]
    )
    assert refusal(answer) == (400, "invalid_grant", 50173)
    await outlook.get_json("/me")


async def test_application_token_needs_a_real_tenant_and_default_scope(providers: RunningProviders) -> None:
    scope = "https://graph.microsoft.com/.default"
    common = await request_microsoft_token(providers, grant_type="client_credentials", scope=scope)
    assert refusal(common) == (400, "invalid_request", 9001023)
    nobody = await request_microsoft_token(providers, "nobody.example", grant_type="client_credentials", scope=scope)
    assert refusal(nobody) == (400, "invalid_request", 90002)
    narrow = await request_microsoft_token(
        providers, "company.example", grant_type="client_credentials", scope="Mail.Read"
    )
    assert refusal(narrow) == (400, "invalid_scope", 1002012)
    granted = await request_microsoft_token(providers, "company.example", grant_type="client_credentials", scope=scope)
    assert granted.json().keys() == {"token_type", "expires_in", "ext_expires_in", "access_token"}


async def test_application_reads_its_tenants_mailboxes_and_no_others(providers: RunningProviders) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@other.example")
    scope = "https://graph.microsoft.com/.default"
    granted = await request_microsoft_token(providers, "company.example", grant_type="client_credentials", scope=scope)
    application = MailboxUser(providers.http, providers.at.graph_url, granted.json())
    await application.get_json(f"/users/{OUTLOOK}/messages")
    await application.get_json("/users/bob@other.example/messages", status=404)
    await application.get_json("/me/messages", status=400)


async def test_other_grant_types_are_refused(providers: RunningProviders) -> None:
    answer = await request_microsoft_token(providers, grant_type="password", username=OUTLOOK)
    assert refusal(answer) == (400, "unsupported_grant_type", 70003)


async def test_unavailable_token_endpoint_is_no_verdict_on_the_grant(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    await providers.control.set_fault("unavailable", mailbox=OUTLOOK, status=503, times=1)
    fields = {"grant_type": "refresh_token", "refresh_token": outlook.tokens["refresh_token"]}
    assert refusal(await request_microsoft_token(providers, **fields)) == (503, "temporarily_unavailable", 90033)
    assert (await request_microsoft_token(providers, **fields)).status_code == 200


async def test_msal_gets_an_application_token(providers: RunningProviders) -> None:
    class NoCache(dict[str, object]):
        def __setitem__(self, key: str, value: object) -> None:
            return None

    def acquire() -> dict[str, object]:
        with httpx.Client(verify=ssl.create_default_context(cafile=providers.ca_bundle), trust_env=False) as client:
            application = msal.ConfidentialClientApplication(
                providers.settings.microsoft_client_id,
                client_credential=providers.settings.microsoft_client_secret.get_secret_value(),
                authority=f"{providers.at.authority}/company.example",
                instance_discovery=False,
                http_client=client,
                http_cache=NoCache(),
            )
            return dict(application.acquire_token_for_client(["https://graph.microsoft.com/.default"]))

    found = await asyncio.to_thread(acquire)
    assert "access_token" in found, json.dumps(found)


async def test_used_refresh_token_dies_by_the_switch(providers: RunningProviders) -> None:
    person = await sign_in_outlook_user(providers)
    fields = {"grant_type": "refresh_token", "refresh_token": person.tokens["refresh_token"]}
    await providers.control.set_fault("refresh", mailbox=OUTLOOK, mode="rotates")
    assert (await request_microsoft_token(providers, **fields)).status_code == 200
    assert refusal(await request_microsoft_token(providers, **fields)) == (400, "invalid_grant", 70000)


async def test_refresh_token_in_parallel_use_is_refused_once(providers: RunningProviders) -> None:
    person = await sign_in_outlook_user(providers)
    fields = {"grant_type": "refresh_token", "refresh_token": person.tokens["refresh_token"]}
    await providers.control.set_fault("refresh", mailbox=OUTLOOK, mode="refused_in_parallel", within_s=60, times=1)
    statuses = [(await request_microsoft_token(providers, **fields)).status_code for _ in range(3)]
    assert statuses == [200, 400, 200]
