from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from mailroom_common.errors import ProviderUnavailable, Rejected, Throttled, TokenRefused
from mailroom_common.events import Profile
from mailroom_common.providers.types import Grant, Mailbox
from mailroom_common.settings import TLSSettings
from mailroom_outlook.consent import MicrosoftIdentity, _check_issuer, check_scopes
from mailroom_outlook.settings import OutlookSettings

AUTHORITY = "https://login.example"


@pytest.fixture
def microsoft(http: httpx.AsyncClient) -> MicrosoftIdentity:
    settings = OutlookSettings(
        microsoft_authority=AUTHORITY,
        graph_url="https://graph.example/v1.0",
        microsoft_client_id="client-1",
        microsoft_client_secret=SecretStr("secret-canary"),
    )
    return MicrosoftIdentity(settings, TLSSettings(), http)


def configuration(**changed: str) -> httpx.Response:
    return httpx.Response(
        200,
        json={
            "issuer": f"{AUTHORITY}/{{tenantid}}/v2.0",
            "authorization_endpoint": f"{AUTHORITY}/common/oauth2/v2.0/authorize",
            "token_endpoint": f"{AUTHORITY}/common/oauth2/v2.0/token",
            **changed,
        },
    )


async def page(
    microsoft: MicrosoftIdentity, profile: Profile = Profile.INVOICE, tenant: str | None = None
) -> httpx.URL:
    return httpx.URL(
        await microsoft.build_authorize_url(
            tenant,
            profile=profile,
            redirect_uri="https://m/cb",
            state="s",
            nonce="n",
            code_challenge="cc",
            login_hint=None,
        )
    )


async def test_page_asks_for_the_profiles_scopes_with_pkce_and_a_nonce(microsoft: MicrosoftIdentity, wire: Any) -> None:
    wire.plays(configuration())
    asked = dict((await page(microsoft)).params)
    observed = dict((await page(microsoft, Profile.OBSERVATION)).params)
    assert asked["scope"] == "openid profile offline_access User.Read Mail.Read"
    assert observed["scope"] == "openid profile offline_access User.Read Mail.ReadBasic"
    assert (asked["code_challenge_method"], asked["response_mode"], asked["state"]) == ("S256", "query", "s")
    assert asked["nonce"]
    assert wire.requests[0].url.path == "/common/v2.0/.well-known/openid-configuration"


@pytest.mark.parametrize("endpoint", ["token_endpoint", "authorization_endpoint"])
async def test_endpoint_elsewhere_is_not_sent_codes_and_secrets(
    microsoft: MicrosoftIdentity, wire: Any, endpoint: str
) -> None:
    wire.plays(configuration(**{endpoint: "https://evil.example/token"}))
    with pytest.raises(ProviderUnavailable, match=endpoint):
        await page(microsoft)


async def test_unknown_tenant_is_rejected_and_trouble_is_not(microsoft: MicrosoftIdentity, wire: Any) -> None:
    wire.plays(httpx.Response(400, json={"error": "invalid_tenant"}), httpx.Response(503), configuration())
    with pytest.raises(Rejected):
        await page(microsoft, tenant="nobody.example")
    with pytest.raises(ProviderUnavailable):
        await page(microsoft, tenant="nobody.example")
    assert (await page(microsoft, tenant="nobody.example")).host == "login.example"


@pytest.mark.parametrize(
    ("template", "issuer", "tenant", "is_ours"),
    [
        (f"{AUTHORITY}/{{tenantid}}/v2.0", f"{AUTHORITY}/t-1/v2.0", "t-1", True),
        (f"{AUTHORITY}/t-1/v2.0", f"{AUTHORITY}/t-1/v2.0", "t-1", True),
        (f"{AUTHORITY}/{{tenantid}}/v2.0", f"{AUTHORITY}/t-2/v2.0", "t-1", False),
        (f"{AUTHORITY}/t-1/v2.0", f"{AUTHORITY}/t-2/v2.0", "t-2", False),
        (f"{AUTHORITY}/{{tenantid}}/v2.0", f"{AUTHORITY}/{{tenantid}}/v2.0", None, True),
        (f"{AUTHORITY}/{{tenantid}}/v2.0", None, "t-1", False),
    ],
)
def test_issuer_is_the_very_tenant_that_the_token_names(
    template: str, issuer: str | None, tenant: str | None, is_ours: bool
) -> None:
    claims = {"iss": issuer, "tid": tenant}
    if is_ours:
        _check_issuer(template, claims)
    else:
        with pytest.raises(Rejected):
            _check_issuer(template, claims)


@pytest.mark.parametrize(
    ("status", "payload", "error"),
    [
        (400, {"error": "invalid_grant", "error_codes": [50173], "suberror": "bad_token"}, TokenRefused),
        (400, {"error": "interaction_required"}, TokenRefused),
        (400, {"error": "consent_required"}, TokenRefused),
        (401, {"error": "invalid_client", "error_codes": [7000215]}, ProviderUnavailable),
        (400, {"error": "unauthorized_client"}, ProviderUnavailable),
        (400, {"error": "temporarily_unavailable"}, ProviderUnavailable),
        (400, {}, ProviderUnavailable),
        (429, {}, Throttled),
        (500, {}, ProviderUnavailable),
    ],
)
async def test_refusals_of_a_refresh_mean(
    microsoft: MicrosoftIdentity,
    wire: Any,
    outlook: Mailbox,
    status: int,
    payload: dict[str, object],
    error: type[Exception],
) -> None:
    described = {"error_description": "AADSTS1: user canary@contoso.example"}
    wire.plays(httpx.Response(status, json=payload | described))
    with pytest.raises(error) as caught:
        await microsoft.refresh_grant(outlook, "rt-canary")
    assert "canary" not in str(caught.value)


async def test_refresh_asks_the_mailboxs_tenant_and_keeps_its_scopes(
    microsoft: MicrosoftIdentity, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json={"access_token": "at", "refresh_token": "rt2", "expires_in": "3599"}))
    grant = await microsoft.refresh_grant(outlook, "rt1")
    assert (grant.access_token, grant.refresh_token) == ("at", "rt2")
    assert str(wire.requests[0].url) == f"{AUTHORITY}/common/oauth2/v2.0/token"
    assert "Mail.Read" in httpx.QueryParams(wire.requests[0].content.decode())["scope"].split()


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (httpx.Response(401, json={}), Rejected),
        (httpx.Response(503, headers={"Retry-After": "2.5"}), ProviderUnavailable),
        (httpx.Response(200, json={"id": "u", "mail": None, "userPrincipalName": "nobody"}), Rejected),
        (httpx.Response(200, text="<html>"), ProviderUnavailable),
    ],
)
async def test_account_without_an_address_is_rejected_and_trouble_is_not(
    microsoft: MicrosoftIdentity, wire: Any, grant: Grant, response: httpx.Response, error: type[Exception]
) -> None:
    wire.plays(response)
    with pytest.raises(error):
        await microsoft.identify_account(None, grant)


async def test_principal_name_is_an_alias_where_it_differs(
    microsoft: MicrosoftIdentity, wire: Any, grant: Grant
) -> None:
    user = {"id": "u-1", "mail": "Ap@contoso.example", "userPrincipalName": "jane@contoso.example"}
    wire.plays(httpx.Response(200, json=user))
    account = await microsoft.identify_account(None, grant)
    assert (account.user_id, account.address, account.aliases, account.tenant) == (
        "u-1",
        "Ap@contoso.example",
        ("jane@contoso.example",),
        "t-1",
    )


@pytest.mark.parametrize(
    ("tenant", "issuer", "verified"),
    [
        (None, "unused", ("jane@contoso.example",)),
        ("common", f"{AUTHORITY}/{{tenantid}}/v2.0", ("jane@contoso.example",)),
        ("t-2", f"{AUTHORITY}/t-2/v2.0", ("jane@contoso.example",)),
        ("t-1", f"{AUTHORITY}/t-1/v2.0", ("jane@contoso.example", "ap@contoso.example")),
        ("contoso.example", f"{AUTHORITY}/t-1/v2.0", ("jane@contoso.example", "ap@contoso.example")),
    ],
)
async def test_mail_that_any_administrator_can_enter_counts_only_in_a_tenant_that_was_named(
    microsoft: MicrosoftIdentity, wire: Any, grant: Grant, tenant: str | None, issuer: str, verified: tuple[str, ...]
) -> None:
    user = {"id": "u-1", "mail": "ap@contoso.example", "userPrincipalName": "jane@contoso.example"}
    wire.plays(httpx.Response(200, json=user), configuration(issuer=issuer))
    assert (await microsoft.identify_account(tenant, grant)).verified_addresses == verified


@pytest.fixture
def grant() -> Grant:
    return Grant("at", "rt", datetime.now(UTC), frozenset(), {"tid": "t-1", "iss": f"{AUTHORITY}/t-1/v2.0"})


@pytest.mark.parametrize(
    ("profile", "granted", "is_enough"),
    [
        (Profile.INVOICE, {"https://graph.microsoft.com/Mail.Read", "openid"}, True),
        (Profile.INVOICE, {"mail.readwrite"}, True),
        (Profile.INVOICE, {"Mail.ReadBasic", "User.Read"}, False),
        (Profile.OBSERVATION, {"Mail.ReadBasic"}, True),
        (Profile.OBSERVATION, {"Mail.Read"}, True),
        (Profile.OBSERVATION, {"User.Read"}, False),
    ],
)
def test_reading_must_have_been_granted(profile: Profile, granted: set[str], is_enough: bool) -> None:
    if is_enough:
        check_scopes(profile, frozenset(granted))
    else:
        with pytest.raises(Rejected):
            check_scopes(profile, frozenset(granted))
