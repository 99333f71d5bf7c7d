"""The Microsoft identity platform: discovery, keys, authorize with a page, token."""

import base64
import time
import uuid
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import unquote

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mailroom_sandbox.provider_doubles.calls import CallFacts
from mailroom_sandbox.provider_doubles.consent import (
    answer_by_redirect,
    build_consent_page,
    build_error_page,
    proves_challenge,
)
from mailroom_sandbox.provider_doubles.faults import RefreshFault, UnavailableFault
from mailroom_sandbox.provider_doubles.microsoft.directory import PROVIDER, Directory, User
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.tokens import ConsentRecord, Holder
from mailroom_sandbox.provider_doubles.wire import Call, read_form

BRAND = "Microsoft (sandbox)"
REFRESH_LIFETIME = timedelta(days=90)
_GRAPH = "https://graph.microsoft.com/"
_OPENID = frozenset({"openid", "profile", "email", "offline_access"})
_KNOWN = _OPENID | {
    "User.Read",
    "Mail.Read",
    "Mail.ReadBasic",
    "Mail.ReadWrite",
    "Mail.Read.Shared",
    "User.Read.All",
}
_SHARED_TENANTS = frozenset({"common", "organizations", "consumers"})
_AUTHORIZE_PARAMETERS = (
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
)


class MicrosoftTokenRefusal(Exception):
    """The token endpoint's no: `error` is what clients branch on, the number and text are for people."""

    def __init__(self, error: str, number: int, text: str, status: int = 400, **more: str) -> None:
        super().__init__(error)
        self.error = error
        self.number = number
        self.text = text
        self.status = status
        self.more = more


class IdentityPlatform:
    def __init__(self, state: ProviderState, directory: Directory) -> None:
        self._state = state
        self._settings = state.settings
        self._directory = directory

    async def answer_configuration(self, request: Request) -> Response:
        tenant = request.path_params["tenant"]
        base = _build_base_url(request)
        known = self._directory.find_tenant(tenant)
        if known is None and tenant not in _SHARED_TENANTS:
            refusal = MicrosoftTokenRefusal("invalid_tenant", 90002, f"Tenant '{tenant}' not found.")
            return self._refuse_grant(refusal)
        issuer = f"{base}/{known or '{tenantid}'}/v2.0"
        return JSONResponse(
            {
                "token_endpoint": f"{base}/{tenant}/oauth2/v2.0/token",
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
                "jwks_uri": f"{base}/{tenant}/discovery/v2.0/keys",
                "response_modes_supported": ["query", "fragment", "form_post"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "response_types_supported": ["code"],
                "scopes_supported": ["openid", "profile", "email", "offline_access"],
                "issuer": issuer,
                "request_uri_parameter_supported": False,
                "userinfo_endpoint": f"{base}/oidc/userinfo",
                "authorization_endpoint": f"{base}/{tenant}/oauth2/v2.0/authorize",
                "claims_supported": ["sub", "iss", "aud", "exp", "iat", "nonce", "preferred_username", "name", "tid"],
                "tenant_region_scope": None,
            }
        )

    async def answer_keys(self, request: Request) -> Response:
        issuer = f"{_build_base_url(request)}/{{tenantid}}/v2.0"
        return JSONResponse({"keys": [{**self._state.microsoft_key.public_jwk(), "issuer": issuer}]})

    # Authorize

    async def answer_authorize(self, request: Request) -> Response:
        form = dict(request.query_params)
        if request.method == "POST":
            form = dict(await read_form(request))
        if form.get("client_id") != self._settings.microsoft_client_id:
            text = "AADSTS700016: Application was not found in the directory."
            return build_error_page(BRAND, text)
        if form.get("redirect_uri") not in self._settings.registered_redirects():
            text = "AADSTS50011: The redirect URI specified in the request does not match those of the application."
            return build_error_page(BRAND, text)
        problem = self._find_problem(form)
        if problem:
            return self._redirect_back(form, error=problem[0], error_description=problem[1])
        if request.method == "POST":
            return self._apply_decision(request, form)
        return self._show_consent_page(request, form)

    def _find_problem(self, form: Mapping[str, str]) -> tuple[str, str] | None:
        if form.get("response_type") != "code":
            return "unsupported_response_type", "AADSTS700054: response_type must be 'code'."
        scopes = form.get("scope", "").split()
        unknown = [scope for scope in scopes if _shorten_scope(scope) not in _KNOWN]
        if not scopes or unknown:
            return "invalid_scope", f"AADSTS70011: The provided value for 'scope' is not valid: {' '.join(unknown)}"
        if form.get("code_challenge_method", "plain") not in ("plain", "S256"):
            return "invalid_request", "AADSTS9002313: The code_challenge_method is not supported."
        if form.get("prompt") == "none":
            return "login_required", "AADSTS50058: Silent sign-in was sent but no user is signed in."
        return None

    def _show_consent_page(self, request: Request, form: Mapping[str, str]) -> Response:
        accounts = [user.address for user in self._list_users(request.path_params["tenant"])]
        hint = form.get("login_hint", "").lower()
        return build_consent_page(
            brand=BRAND,
            accounts=accounts,
            preselected=next((address for address in accounts if address.lower() == hint), None),
            scopes=form["scope"].split(),
            parameters={name: form[name] for name in _AUTHORIZE_PARAMETERS if name in form},
            scopes_can_be_unticked=False,
        )

    def _apply_decision(self, request: Request, form: Mapping[str, str]) -> Response:
        if form.get("decision") != "accept":
            text = "AADSTS65004: User declined to consent to access the app."
            return self._redirect_back(form, error="access_denied", error_description=text)
        tenant = request.path_params["tenant"]
        user = self._directory.find_user(form.get("account", ""))
        if user is None or user not in self._list_users(tenant):
            return build_error_page(BRAND, "AADSTS50020: This account does not exist in the directory.")
        scopes = frozenset(_shorten_scope(scope) for scope in form["scope"].split())
        code = self._state.tokens.issue_code(
            ConsentRecord(
                provider=PROVIDER,
                user_id=user.user_id,
                tenant_id=user.tenant_id,
                client_id=form["client_id"],
                redirect_uri=form["redirect_uri"],
                scopes=scopes,
                nonce=form.get("nonce"),
                challenge=form.get("code_challenge"),
                challenge_method=form.get("code_challenge_method"),
                wants_refresh="offline_access" in scopes,
            )
        )
        return self._redirect_back(form, code=code, session_state=str(uuid.uuid4()))

    def _list_users(self, tenant: str) -> list[User]:
        return self._directory.list_users(
            None if tenant in _SHARED_TENANTS else self._directory.find_tenant(tenant) or "none"
        )

    def _redirect_back(self, form: Mapping[str, str], **answer: str) -> Response:
        state = {"state": form["state"]} if "state" in form else {}
        return answer_by_redirect(form["redirect_uri"], {**answer, **state}, form.get("response_mode", "query"))

    # Token

    async def answer_token(self, request: Request) -> Response:
        started = time.monotonic()
        form = dict(await read_form(request))
        mailbox: list[str] = []
        try:
            response: Response = JSONResponse(
                self._answer_grant(request, form, mailbox), headers={"cache-control": "no-store", "pragma": "no-cache"}
            )
        except MicrosoftTokenRefusal as refusal:
            response = self._refuse_grant(refusal)
        call = Call("POST", request.url.path, {}, {}, b"", _build_base_url(request))
        self._state.calls.record_call(
            PROVIDER, call, CallFacts(mailbox[0] if mailbox else None), response.status_code, started
        )
        return response

    def _answer_grant(self, request: Request, form: dict[str, str], mailbox: list[str]) -> dict[str, object]:
        self._authenticate_client(request, form)
        match form.get("grant_type"):
            case "authorization_code":
                return self._issue_for_code(request, form, mailbox)
            case "refresh_token":
                return self._issue_for_refresh_token(request, form, mailbox)
            case "client_credentials":
                return self._issue_for_client(request, form)
            case other:
                text = f"The app requested an unsupported grant type '{other}'."
                raise MicrosoftTokenRefusal("unsupported_grant_type", 70003, text)

    def _authenticate_client(self, request: Request, form: dict[str, str]) -> None:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                client_id, _, secret = base64.b64decode(value).decode().partition(":")
            except ValueError as error:
                raise MicrosoftTokenRefusal(
                    "invalid_client", 7000218, "Client authentication is malformed.", 401
                ) from error
            form |= {"client_id": unquote(client_id), "client_secret": unquote(secret)}
        if form.get("client_id") != self._settings.microsoft_client_id:
            text = f"Application with identifier '{form.get('client_id', '')}' was not found in the directory."
            raise MicrosoftTokenRefusal("unauthorized_client", 700016, text)
        if not form.get("client_secret"):
            text = "The request body must contain the following parameter: 'client_assertion' or 'client_secret'."
            raise MicrosoftTokenRefusal("invalid_client", 7000218, text, 401)
        if form["client_secret"] != self._settings.microsoft_client_secret.get_secret_value():
            raise MicrosoftTokenRefusal("invalid_client", 7000215, "Invalid client secret provided.", 401)

    def _issue_for_code(self, request: Request, form: Mapping[str, str], mailbox: list[str]) -> dict[str, object]:
        code = form.get("code", "")
        consent, problem = self._state.tokens.find_consent(PROVIDER, code)
        if consent is None:
            number = {"used": 54005, "expired": 70008}.get(problem or "", 9002313)
            text = {
                "used": "OAuth2 Authorization code was already redeemed, please retry with a new valid code.",
                "expired": "The provided authorization code or refresh token has expired.",
            }.get(problem or "", "Invalid request. Request is malformed or invalid.")
            raise MicrosoftTokenRefusal("invalid_grant", number, text)
        if form.get("redirect_uri") != consent.redirect_uri or form["client_id"] != consent.client_id:
            raise MicrosoftTokenRefusal(
                "invalid_grant", 500112, "The reply address does not match the one of the code."
            )
        if not proves_challenge(consent.challenge, consent.challenge_method, form.get("code_verifier")):
            text = "The Code_Verifier does not match the code_challenge supplied in the authorization request."
            raise MicrosoftTokenRefusal("invalid_grant", 501481, text)
        self._check_tenant(request.path_params["tenant"], consent.tenant_id)
        holder = self._state.tokens.redeem_code(code, consent)
        return self._issue_tokens(request, holder, mailbox, nonce=consent.nonce)

    def _issue_for_refresh_token(
        self, request: Request, form: Mapping[str, str], mailbox: list[str]
    ) -> dict[str, object]:
        presented = form.get("refresh_token", "")
        found = self._state.tokens.find_token("refresh", PROVIDER, presented)
        holder = found.holder
        if holder and holder.user_id and (user := self._directory.find_user(holder.user_id)):
            mailbox.append(user.address.lower())
        fault = self._state.faults.use_fault_once(
            UnavailableFault, mailbox[0] if mailbox else None, lambda fault: fault.concerns(request.url.path)
        )
        if fault:
            raise MicrosoftTokenRefusal(
                "temporarily_unavailable", 90033, "A transient error has occurred.", fault.status
            )
        if holder is None:
            raise MicrosoftTokenRefusal("invalid_grant", 9002313, "Invalid request. Request is malformed or invalid.")
        if found.problem == "expired":
            text = "The refresh token has expired due to inactivity. The token was inactive for 90.00:00:00."
            raise MicrosoftTokenRefusal("invalid_grant", 700082, text)
        parallel = self._state.tokens.is_used_in_parallel(
            presented, mailbox[0] if mailbox else None, self._state.faults
        )
        if found.problem == "used" or parallel:
            raise MicrosoftTokenRefusal("invalid_grant", 70000, "The provided value for 'refresh_token' is not valid.")
        if found.problem:
            text = "The provided grant has expired due to it being revoked, a fresh auth token is needed."
            raise MicrosoftTokenRefusal("invalid_grant", 50173, text)
        requested_scopes = {_shorten_scope(scope) for scope in form.get("scope", "").split()} - _OPENID
        if not requested_scopes <= holder.scopes:
            text = "The user or administrator has not consented to use the application."
            raise MicrosoftTokenRefusal("invalid_grant", 65001, text, suberror="consent_required")
        self._check_tenant(request.path_params["tenant"], holder.tenant_id)
        if self._settings.refresh_tokens_rotate or self._rotates(mailbox[0] if mailbox else None):
            self._state.tokens.revoke_token(presented, "used")
        return self._issue_tokens(request, holder, mailbox, nonce=None)

    def _rotates(self, mailbox: str | None) -> bool:
        fault = self._state.faults.use_fault_once(RefreshFault, mailbox, lambda fault: fault.mode == "rotates")
        return fault is not None

    def _issue_for_client(self, request: Request, form: Mapping[str, str]) -> dict[str, object]:
        tenant = request.path_params["tenant"]
        if tenant in _SHARED_TENANTS:
            raise MicrosoftTokenRefusal(
                "invalid_request", 9001023, "The grant type is not supported over this endpoint."
            )
        tenant_id = self._directory.find_tenant(tenant)
        if tenant_id is None:
            raise MicrosoftTokenRefusal("invalid_request", 90002, f"Tenant '{tenant}' not found.")
        if form.get("scope") != f"{_GRAPH}.default":
            text = "The provided value for the input parameter 'scope' is not valid. It must end with '/.default'."
            raise MicrosoftTokenRefusal("invalid_scope", 1002012, text)
        roles = frozenset(self._settings.microsoft_application_roles.split())
        client_id = form["client_id"]
        holder = Holder(PROVIDER, None, tenant_id, client_id, roles, str(uuid.uuid4()))
        token = self._access_token(holder)
        lifetime = self._settings.access_token_lifetime_s
        return {"token_type": "Bearer", "expires_in": lifetime, "ext_expires_in": lifetime, "access_token": token}

    def _check_tenant(self, named: str, tenant_id: str) -> None:
        if named not in _SHARED_TENANTS and self._directory.find_tenant(named) != tenant_id:
            text = "The provided code or token was issued for another tenant."
            raise MicrosoftTokenRefusal("invalid_grant", 700005, text)

    def _issue_tokens(
        self, request: Request, holder: Holder, mailbox: list[str], nonce: str | None
    ) -> dict[str, object]:
        user = self._directory.find_user(holder.user_id or "")
        if user is None:
            raise MicrosoftTokenRefusal("invalid_grant", 50034, "The user account does not exist in the directory.")
        mailbox[:] = [user.address.lower()]
        lifetime = self._settings.access_token_lifetime_s
        granted = sorted(holder.scopes - {"offline_access"})
        answer: dict[str, object] = {
            "token_type": "Bearer",
            "scope": " ".join(granted),
            "expires_in": lifetime,
            "ext_expires_in": lifetime,
            "access_token": self._access_token(holder),
        }
        if "offline_access" in holder.scopes:
            refresh_token = f"1.{uuid.uuid4().hex}{uuid.uuid4().hex}{uuid.uuid4().hex}-AA"
            self._state.tokens.store_token("refresh", refresh_token, holder, REFRESH_LIFETIME)
            answer["refresh_token"] = refresh_token
        if "openid" in holder.scopes:
            answer["id_token"] = self._build_id_token(request, holder, user, nonce)
        return answer

    def _access_token(self, holder: Holder) -> str:
        """A JWT as for work accounts. Graph looks it up; nobody else may read it."""
        now = int(self._state.now().timestamp())
        lifetime = timedelta(seconds=self._settings.access_token_lifetime_s)
        claims: dict[str, object] = {
            "aud": _GRAPH.rstrip("/"),
            "iss": f"https://sts.windows.net/{holder.tenant_id}/",
            "iat": now,
            "nbf": now,
            "exp": now + int(lifetime.total_seconds()),
            "appid": holder.client_id,
            "tid": holder.tenant_id,
            "uti": uuid.uuid4().hex,
            "ver": "1.0",
        }
        claims |= (
            {"oid": holder.user_id, "scp": " ".join(sorted(holder.scopes))}
            if holder.user_id
            else {"roles": sorted(holder.scopes)}
        )
        token = self._state.microsoft_key.sign_claims(claims)
        self._state.tokens.store_token("access", token, holder, lifetime)
        return token

    def _build_id_token(self, request: Request, holder: Holder, user: User, nonce: str | None) -> str:
        now = int(self._state.now().timestamp())
        claims: dict[str, object] = {
            "ver": "2.0",
            "iss": f"{_build_base_url(request)}/{holder.tenant_id}/v2.0",
            "sub": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{holder.client_id}/{user.user_id}")),
            "aud": holder.client_id,
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
            "name": user.display_name,
            "preferred_username": user.address,
            "oid": user.user_id,
            "tid": holder.tenant_id,
        }
        if nonce is not None:
            claims["nonce"] = nonce
        if "email" in holder.scopes:
            claims["email"] = user.address
        return self._state.microsoft_key.sign_claims(claims)

    def _refuse_grant(self, refusal: MicrosoftTokenRefusal) -> Response:
        trace, correlation = str(uuid.uuid4()), str(uuid.uuid4())
        timestamp = self._state.now().strftime("%Y-%m-%d %H:%M:%SZ")
        description = (
            f"AADSTS{refusal.number}: {refusal.text}\r\nTrace ID: {trace}\r\nCorrelation ID: {correlation}"
            f"\r\nTimestamp: {timestamp}"
        )
        body = {
            "error": refusal.error,
            "error_description": description,
            "error_codes": [refusal.number],
            "timestamp": timestamp,
            "trace_id": trace,
            "correlation_id": correlation,
            **refusal.more,
        }
        return Response(orjson.dumps(body), status_code=refusal.status, media_type="application/json; charset=utf-8")


def _shorten_scope(scope: str) -> str:
    return scope.removeprefix(_GRAPH)


def _build_base_url(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers['host']}"
