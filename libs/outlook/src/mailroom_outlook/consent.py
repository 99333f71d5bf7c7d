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
    exchange,
    open_blocking_client,
    origin_of,
    retry_after_s,
    same_origin,
)
from mailroom_common.providers.oauth import (
    TOKEN_TIMEOUT_S,
    ask_token_endpoint,
    grant_of,
    refusal_of_code,
    refusal_of_refresh,
)
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox
from mailroom_common.settings import TLSSettings
from mailroom_outlook.mail import SLOTS_PER_MAILBOX, GraphMail
from mailroom_outlook.scopes import check_microsoft, microsoft_scopes
from mailroom_outlook.settings import CLIENT_VARIABLES, TRAITS, OutlookSettings

ANY_TENANT = "common"
_RESERVED = ("openid", "profile", "offline_access")
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
        self.page_origin = origin_of(settings.microsoft_authority, variable="MAILROOM_MICROSOFT_AUTHORITY")
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
        configuration = await self._configuration(tenant)
        query = {
            "client_id": self._client_id,
            "response_type": "code",
            "response_mode": "query",  # a cross-site form_post would leave behind the Lax cookie that binds the browser
            "redirect_uri": redirect_uri,
            "scope": " ".join((*_RESERVED, *microsoft_scopes(profile))),
            "state": state,
            "nonce": _hashed(nonce),
            "code_challenge": code_challenge,
            "code_challenge_method": "S256",
        }
        query |= {"login_hint": login_hint} if login_hint else {"prompt": "select_account"}
        endpoint = str(configuration["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def exchange_code(
        self, tenant: str | None, *, profile: Profile, code: str, redirect_uri: str, code_verifier: str, nonce: str
    ) -> Grant:
        configuration = await self._configuration(tenant)
        # The flow that msal itself would have begun; state was compared with the browser's cookie by our caller.
        flow = {
            "state": "compared",
            "redirect_uri": redirect_uri,
            "scope": list(microsoft_scopes(profile)),
            "code_verifier": code_verifier,
            "nonce": nonce,
        }
        asked_at = datetime.now(UTC)
        answer = await self._ask_msal(
            tenant, lambda app: app.acquire_token_by_auth_code_flow(flow, {"code": code, "state": "compared"})
        )
        if "error" in answer:
            raise refusal_of_code(answer, setting=CLIENT_VARIABLES)
        claims = answer.get("id_token_claims")
        if not isinstance(claims, dict):
            raise Rejected("no id_token came with the sign-in")
        _check_issuer(str(configuration.get("issuer")), claims)
        grant = grant_of(answer, asked_at=asked_at, id_claims=claims)
        if grant.refresh_token is None:
            raise Rejected("no refresh token came with the sign-in: offline_access was not given")
        if grant.scopes:
            check_microsoft(profile, grant.scopes)
        return grant

    async def identify_account(self, grant: Grant) -> Account:
        request = self._http.build_request(
            "GET",
            self._graph.join("/me?$select=id,mail,userPrincipalName,displayName"),
            headers={"Authorization": f"Bearer {grant.access_token}", "Prefer": 'IdType="ImmutableId"'},
        )
        answer = await exchange(self._http, request)
        if answer.status in (401, 403):
            raise Rejected(f"Graph answered {answer.status} when asked who signed in")
        if not answer.is_success:
            wait_s = retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Graph answered {answer.status} to who signed in", retry_after_s=wait_s)
        return _account_of(answer.json(), grant)

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        mail = GraphMail(self._http, self._graph, GrantToken(grant.access_token), Quota(slots=SLOTS_PER_MAILBOX))
        return await mail.list_folders(mailbox)

    async def revoke_grant(self, refresh_token: str) -> None:
        """Microsoft has no such call: the user or an administrator removes the application's consent."""

    async def refresh_grant(self, mailbox: Mailbox, refresh_token: str) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await ask_token_endpoint(
            self._http,
            self._authority.join(f"/{mailbox.provider_tenant or ANY_TENANT}/oauth2/v2.0/token"),
            {
                "client_id": self._client_id,
                "client_secret": self._client_secret,
                "grant_type": "refresh_token",
                "refresh_token": refresh_token,
                "scope": " ".join((*_RESERVED, *microsoft_scopes(mailbox.profile))),
            },
        )
        if not answer.is_success:
            raise refusal_of_refresh(answer.json_or_nothing(), setting=CLIENT_VARIABLES)
        return grant_of(answer.json(), asked_at=asked_at)

    def build_cache_key(self, mailbox: Mailbox) -> str:
        return str(mailbox.provider_tenant)

    async def issue_token(self, mailbox: Mailbox) -> Grant:
        if mailbox.provider_tenant is None:
            raise AccessDenied("application access needs the provider tenant: Microsoft issues no token for `common`")
        asked_at = datetime.now(UTC)
        try:
            await self._configuration(mailbox.provider_tenant)
        except Rejected as error:
            raise AccessDenied(str(error)) from error
        try:
            answer = await self._ask_msal(
                mailbox.provider_tenant, lambda app: app.acquire_token_for_client([self._application_scope()])
            )
        except Rejected as error:  # HTML instead of JSON: no user's answer is to blame here
            raise ProviderUnavailable(str(error)) from error
        if "error" in answer:
            raise _refusal_of_application(answer)
        return grant_of(answer, asked_at=asked_at)

    def _application_scope(self) -> str:
        """The resource is Graph's name in its cloud; whoever plays Graph elsewhere goes by the public one."""
        host = httpx.URL(self._settings.graph_url).host
        return f"https://{host if host in _GRAPH_HOSTS else 'graph.microsoft.com'}/.default"

    async def _configuration(self, tenant: str | None) -> JSON:
        """The tenant's OpenID configuration, which hardly ever changes. Codes and secrets go only to our authority."""
        name = tenant or ANY_TENANT
        if name not in self._configurations:
            url = self._authority.join(f"/{name}/v2.0/.well-known/openid-configuration")
            answer = await exchange(self._http, self._http.build_request("GET", url, timeout=TOKEN_TIMEOUT_S))
            if answer.status in (400, 404):
                raise Rejected("Microsoft does not know this tenant")
            if not answer.is_success:
                raise ProviderUnavailable(f"Microsoft's OpenID configuration answered {answer.status}")
            configuration = answer.json()
            ours = httpx.URL(self._settings.microsoft_authority)
            for endpoint in ("authorization_endpoint", "token_endpoint"):
                if not same_origin(httpx.URL(str(configuration.get(endpoint))), ours):
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
                raise _busy(error.response) from None  # the request in its cause carries secrets
            except httpx.HTTPError as error:
                raise ProviderUnavailable(f"Microsoft could not be reached: {type(error).__name__}") from None
            except (ValueError, RuntimeError) as error:
                # What msal makes of a wrong nonce, an id_token for somebody else, or HTML instead of JSON. Its text
                # repeats the token's claims: the kind has to do.
                raise Rejected(f"msal did not accept Microsoft's answer: {type(error).__name__}") from None


class _NoHTTPCache(dict[str, object]):
    def __setitem__(self, key: str, value: object) -> None:
        """Forget at once."""


def _hashed(nonce: str) -> str:
    """msal compares the id_token's nonce with the hash of the one it is given."""
    return hashlib.sha256(nonce.encode("ascii")).hexdigest()


def _busy(response: httpx.Response) -> ProviderUnavailable | Throttled:
    wait_s = retry_after_s(response.headers, now=datetime.now(UTC))
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return Throttled("Microsoft's token endpoint asked for patience", retry_after_s=wait_s)
    return ProviderUnavailable(f"Microsoft's token endpoint answered {response.status_code}", retry_after_s=wait_s)


def _refusal_of_application(answer: JSON) -> MailroomError:
    """A tenant that does not know the application is that tenant's to mend; a wrong secret is the operator's."""
    refusal = refusal_of_refresh(answer, setting=CLIENT_VARIABLES)
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


def _account_of(user: JSON, grant: Grant) -> Account:
    user_id, mail, principal = user.get("id"), user.get("mail"), user.get("userPrincipalName")
    address = mail or principal
    if not isinstance(user_id, str) or not isinstance(address, str) or "@" not in address:
        raise Rejected("the account that signed in has no mail address")
    tenant = grant.id_claims.get("tid")
    aliases = (principal,) if isinstance(principal, str) and principal.lower() != address.lower() else ()
    return Account(user_id, address, aliases, tenant if isinstance(tenant, str) else None)
