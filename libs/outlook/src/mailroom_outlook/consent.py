"""Microsoft's identity platform: consent, refresh, and tokens for application access.

msal redeems codes and asks for client credentials: it checks the id_token's audience, times and nonce. It blocks and
caches, so each use gets an application of its own, built and used in a thread, without its HTTP cache (which would
repeat an old error for a minute). A refresh is one plain POST.
Source: foundations.md "msal", providers/graph.md 2 and 3.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx
import msal

from mailroom_common.errors import AccessDenied, MailroomError, ProviderUnavailable, Rejected, Throttled
from mailroom_common.events import Profile
from mailroom_common.providers.calls import GrantToken
from mailroom_common.providers.http import (
    BaseURL,
    is_same_origin,
    open_blocking_client,
    parse_retry_after_s,
    read_origin,
    send_request,
)
from mailroom_common.providers.oauth import (
    TOKEN_TIMEOUT_S,
    build_grant,
    map_code_refusal,
    map_refresh_refusal,
    request_token,
)
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox
from mailroom_common.settings import TLSSettings
from mailroom_outlook.graph_calls import IMMUTABLE_IDS
from mailroom_outlook.mail import SLOTS_PER_MAILBOX, GraphMail
from mailroom_outlook.settings import CLIENT_VARIABLES, TRAITS, OutlookSettings

ANY_TENANT = "common"
# msal adds these itself and refuses to be given them; a plain POST has to name them.
_RESERVED = ("openid", "profile", "offline_access")
_READ_SCOPES = {Profile.OBSERVATION: "Mail.ReadBasic"}
_SUFFICIENT_SCOPES = {
    "mail.read": {"mail.read", "mail.readwrite"},
    "mail.readbasic": {"mail.readbasic", "mail.read", "mail.readwrite"},
}
_GRAPH_HOSTS = {
    "graph.microsoft.com",
    "graph.microsoft.us",
    "dod-graph.microsoft.us",
    "microsoftgraph.chinacloudapi.cn",
}

JSON = dict[str, Any]  # Any: msal's and Microsoft's answers, read member by member below


class MicrosoftIdentity:
    """`Consent` for Outlook; also refreshes grants and issues application tokens."""

    traits = TRAITS

    def __init__(self, settings: OutlookSettings, tls: TLSSettings, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._tls = tls
        self._client_id = str(settings.microsoft_client_id)
        self._client_secret = (
            "" if settings.microsoft_client_secret is None else settings.microsoft_client_secret.get_secret_value()
        )
        self._http = http
        self.page_origin = read_origin(settings.microsoft_authority, variable="MAILROOM_MICROSOFT_AUTHORITY")
        self._authority = BaseURL(settings.microsoft_authority)
        self._graph = BaseURL(settings.graph_url)
        self._configurations: dict[str, JSON] = {}

    async def build_authorize_url(
        self,
        tenant: str | None,
        *,
        profile: Profile,
        redirect_uri: str,
        state: str,
        nonce: str,
        code_challenge: str,
        login_hint: str | None,
    ) -> str:
        configuration = await self._load_configuration(tenant)
        query = {
            "client_id": self._client_id,
            "response_type": "code",
            "response_mode": "query",  # a cross-site form_post would leave behind the Lax cookie that binds the browser
            "redirect_uri": redirect_uri,
            "scope": " ".join((*_RESERVED, *choose_scopes(profile))),
            "state": state,
            "nonce": _hash_nonce(nonce),
            "code_challenge": code_challenge,
            "code_challenge_method": "S256",
        }
        # Without a hint the user chooses: a browser that is signed in would silently connect whoever that is.
        query |= {"login_hint": login_hint} if login_hint else {"prompt": "select_account"}
        endpoint = str(configuration["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def exchange_code(
        self, tenant: str | None, *, profile: Profile, code: str, redirect_uri: str, code_verifier: str, nonce: str
    ) -> Grant:
        configuration = await self._load_configuration(tenant)
        # The flow that msal itself would have begun; state was compared with the browser's cookie by our caller.
        flow = {
            "state": "compared",
            "redirect_uri": redirect_uri,
            "scope": list(choose_scopes(profile)),
            "code_verifier": code_verifier,
            "nonce": nonce,
        }
        asked_at = datetime.now(UTC)
        answer = await self._ask_msal(
            tenant, lambda app: app.acquire_token_by_auth_code_flow(flow, {"code": code, "state": "compared"})
        )
        if "error" in answer:
            raise map_code_refusal(answer, setting=CLIENT_VARIABLES)
        claims = answer.get("id_token_claims")
        if not isinstance(claims, dict):
            raise Rejected("no id_token came with the sign-in")
        _check_issuer(str(configuration.get("issuer")), claims)
        grant = build_grant(answer, asked_at=asked_at, id_claims=claims)
        if grant.refresh_token is None:
            raise Rejected("no refresh token came with the sign-in: offline_access was not given")
        # An answer without scopes gave what was asked for (RFC 6749, 5.1).
        if grant.scopes:
            check_scopes(profile, grant.scopes)
        return grant

    async def identify_account(self, tenant: str | None, grant: Grant) -> Account:
        request = self._http.build_request(
            "GET",
            self._graph.build_url("/me?$select=id,mail,userPrincipalName,displayName"),
            headers={"Authorization": f"Bearer {grant.access_token}", "Prefer": IMMUTABLE_IDS},
        )
        answer = await send_request(self._http, request)
        if answer.status in (401, 403):
            raise Rejected(f"Graph answered {answer.status} when asked who signed in")
        if not answer.is_success:
            wait_s = parse_retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Graph answered {answer.status} to who signed in", retry_after_s=wait_s)
        is_tenant_named = tenant is not None and await self._is_issued_by(tenant, grant)
        return _build_account(answer.parse_object(), grant, is_tenant_named=is_tenant_named)

    async def _is_issued_by(self, tenant: str, grant: Grant) -> bool:
        """Also `common` and `organizations` can be named: those announce a template, which no issuer equals."""
        issuer = (await self._load_configuration(tenant)).get("issuer")
        return isinstance(issuer, str) and grant.id_claims.get("iss") == issuer

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        mail = GraphMail(self._http, self._graph, GrantToken(grant.access_token), Quota(slots=SLOTS_PER_MAILBOX))
        return await mail.list_folders(mailbox)

    async def revoke_grant(self, refresh_token: str) -> None:
        """Microsoft has no such call: the user or an administrator removes the application's consent."""

    async def refresh_grant(self, mailbox: Mailbox, refresh_token: str) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await request_token(
            self._http,
            self._authority.build_url(f"/{mailbox.provider_tenant or ANY_TENANT}/oauth2/v2.0/token"),
            {
                "client_id": self._client_id,
                "client_secret": self._client_secret,
                "grant_type": "refresh_token",
                "refresh_token": refresh_token,
                "scope": " ".join((*_RESERVED, *choose_scopes(mailbox.profile))),
            },
        )
        if not answer.is_success:
            raise map_refresh_refusal(answer.parse_object_or_empty(), setting=CLIENT_VARIABLES)
        return build_grant(answer.parse_object(), asked_at=asked_at)

    def build_cache_key(self, mailbox: Mailbox) -> str:
        return str(mailbox.provider_tenant)

    async def issue_token(self, mailbox: Mailbox) -> Grant:
        if mailbox.provider_tenant is None:
            raise AccessDenied("application access needs the provider tenant: Microsoft issues no token for `common`")
        asked_at = datetime.now(UTC)
        try:
            await self._load_configuration(mailbox.provider_tenant)
        except Rejected as error:
            raise AccessDenied(str(error)) from error
        try:
            answer = await self._ask_msal(
                mailbox.provider_tenant, lambda app: app.acquire_token_for_client([self._build_application_scope()])
            )
        except Rejected as error:  # HTML instead of JSON: no user's answer is to blame here
            raise ProviderUnavailable(str(error)) from error
        if "error" in answer:
            raise _map_application_refusal(answer)
        return build_grant(answer, asked_at=asked_at)

    def _build_application_scope(self) -> str:
        """The resource is Graph's name in its cloud; whoever plays Graph elsewhere goes by the public one."""
        host = httpx.URL(self._settings.graph_url).host
        return f"https://{host if host in _GRAPH_HOSTS else 'graph.microsoft.com'}/.default"

    async def _load_configuration(self, tenant: str | None) -> JSON:
        """The tenant's OpenID configuration, which hardly ever changes. Codes and secrets go only to our authority."""
        name = tenant or ANY_TENANT
        if name not in self._configurations:
            url = self._authority.build_url(f"/{name}/v2.0/.well-known/openid-configuration")
            answer = await send_request(self._http, self._http.build_request("GET", url, timeout=TOKEN_TIMEOUT_S))
            if answer.status in (400, 404):
                raise Rejected("Microsoft does not know this tenant")
            if not answer.is_success:
                raise ProviderUnavailable(f"Microsoft's OpenID configuration answered {answer.status}")
            configuration = answer.parse_object()
            # A document that names another host would have the client secret sent there.
            ours = httpx.URL(self._settings.microsoft_authority)
            for endpoint in ("authorization_endpoint", "token_endpoint"):
                if not is_same_origin(httpx.URL(str(configuration.get(endpoint))), ours):
                    raise ProviderUnavailable(f"Microsoft's {endpoint} is not at MAILROOM_MICROSOFT_AUTHORITY")
            self._configurations[name] = configuration
        return self._configurations[name]

    async def _ask_msal(self, tenant: str | None, ask: Callable[[msal.ConfidentialClientApplication], JSON]) -> JSON:
        return await asyncio.to_thread(self._ask_msal_blocking, tenant or ANY_TENANT, ask)

    def _ask_msal_blocking(self, tenant: str, ask: Callable[[msal.ConfidentialClientApplication], JSON]) -> JSON:
        with open_blocking_client(self._tls, timeout_s=TOKEN_TIMEOUT_S) as http:
            try:
                # The constructor reads the authority's OpenID configuration; without `instance_discovery=False` it
                # would also ask the public cloud whether it knows this authority.
                app = msal.ConfidentialClientApplication(
                    self._client_id,
                    client_credential=self._client_secret,
                    authority=f"{self._settings.microsoft_authority}/{tenant}",
                    instance_discovery=False,
                    http_client=http,
                    http_cache=_NoHTTPCache(),
                )
                return ask(app)
            except httpx.HTTPStatusError as error:
                raise _map_http_status(error.response) from None  # the request in its cause carries secrets
            except httpx.HTTPError as error:
                raise ProviderUnavailable(f"Microsoft could not be reached: {type(error).__name__}") from None
            except (ValueError, RuntimeError) as error:
                # What msal makes of a wrong nonce, an id_token for somebody else, or HTML instead of JSON. Its text
                # repeats the token's claims: the kind has to do.
                raise Rejected(f"msal did not accept Microsoft's answer: {type(error).__name__}") from None


class _NoHTTPCache(dict[str, object]):
    def __setitem__(self, key: str, value: object) -> None:
        """Forget at once."""


def _hash_nonce(nonce: str) -> str:
    """msal compares the id_token's nonce with the hash of the one it is given."""
    return hashlib.sha256(nonce.encode("ascii")).hexdigest()


def _map_http_status(response: httpx.Response) -> ProviderUnavailable | Throttled:
    wait_s = parse_retry_after_s(response.headers, now=datetime.now(UTC))
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return Throttled("Microsoft's token endpoint throttled us", retry_after_s=wait_s)
    return ProviderUnavailable(f"Microsoft's token endpoint answered {response.status_code}", retry_after_s=wait_s)


def _map_application_refusal(answer: JSON) -> MailroomError:
    """A tenant that does not know the application is that tenant's matter; a wrong secret is the operator's."""
    refusal = map_refresh_refusal(answer, setting=CLIENT_VARIABLES)
    if answer.get("error") in ("unauthorized_client", "invalid_request", "invalid_grant", "access_denied"):
        return AccessDenied(str(refusal))
    return refusal


def _check_issuer(template: str, claims: JSON) -> None:
    """`common` announces a template: the issuer must be the very tenant that the token names.

    Source: Microsoft, "Access tokens", on validating the issuer of multi-tenant applications.
    """
    tenant = claims.get("tid")
    expected = template.replace("{tenantid}", tenant) if isinstance(tenant, str) else template
    if claims.get("iss") != expected:
        raise Rejected("the id_token comes from another issuer")


def _build_account(user: JSON, grant: Grant, *, is_tenant_named: bool) -> Account:
    """`is_tenant_named`: the sign-in was open to one tenant only, which our side chose.

    `mail` is whatever an administrator of the account's tenant enters; the domain of a userPrincipalName must be one
    that the tenant has proven to be its own. So `mail` counts only there.
    Source: Microsoft, "Claims validation", on addresses that are no proof; "Add your custom domain name".
    """
    user_id, mail, principal = user.get("id"), user.get("mail"), user.get("userPrincipalName")
    address = mail or principal
    if not isinstance(user_id, str) or not isinstance(address, str) or "@" not in address:
        raise Rejected("the account that signed in has no mail address")
    tenant = grant.id_claims.get("tid")
    aliases = (principal,) if isinstance(principal, str) and principal.lower() != address.lower() else ()
    verified = tuple(name for name in (principal, address if is_tenant_named else None) if isinstance(name, str))
    return Account(
        user_id,
        address,
        aliases,
        tenant if isinstance(tenant, str) else None,
        verified_addresses=verified,
    )


def choose_scopes(profile: Profile) -> tuple[str, ...]:
    """Beside `openid profile offline_access`, which msal adds by itself and refuses to be given."""
    return ("User.Read", _READ_SCOPES.get(profile, "Mail.Read"))


def check_scopes(profile: Profile, granted: frozenset[str]) -> None:
    """Granted scopes come as short names or as addresses, in any case. Raises Rejected when reading is not allowed."""
    names = {scope.rsplit("/", 1)[-1].lower() for scope in granted}
    wanted = _READ_SCOPES.get(profile, "Mail.Read")
    if not names & _SUFFICIENT_SCOPES[wanted.lower()]:
        raise Rejected(f"the permission {wanted} was not given")
