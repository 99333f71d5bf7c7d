"""Google OAuth 2.0: authorize with a page, token, revoke, certificates."""

import time
import uuid
from collections.abc import Mapping
from datetime import timedelta

import jwt
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
from mailroom_sandbox.provider_doubles.faults import UnavailableFault
from mailroom_sandbox.provider_doubles.google.accounts import PROVIDER, GmailMailboxes, GoogleAccount
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.tokens import ConsentRecord, Holder
from mailroom_sandbox.provider_doubles.wire import Call, read_form

BRAND = "Google (sandbox)"
ISSUER = "https://accounts.google.com"
REFRESH_LIFETIME = timedelta(days=183)
MAX_REFRESH_TOKENS = 100
MAIL_SCOPES = {
    "https://www.googleapis.com/auth/gmail.readonly": "gmail.readonly",
    "https://www.googleapis.com/auth/gmail.modify": "gmail.modify",
    "https://www.googleapis.com/auth/gmail.metadata": "gmail.metadata",
    "https://mail.google.com/": "mail.google.com",
}
_IDENTITY = {
    "openid": "openid",
    "email": "https://www.googleapis.com/auth/userinfo.email",
    "profile": "https://www.googleapis.com/auth/userinfo.profile",
    "https://www.googleapis.com/auth/userinfo.email": "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/userinfo.profile": "https://www.googleapis.com/auth/userinfo.profile",
}
# google-auth writes this audience into an assertion whatever address it then posts to.
_TOKEN_AUDIENCE = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_AUTHORIZE_PARAMETERS = (
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "access_type",
    "prompt",
    "nonce",
    "include_granted_scopes",
    "code_challenge",
    "code_challenge_method",
)
SERVICE_ACCOUNT_FILE = "google-service-account.json"
SERVICE_ACCOUNT = "mailroom@mailroom-sandbox.iam.gserviceaccount.com"


class GoogleTokenRefusal(Exception):
    def __init__(self, error: str, text: str, status: int = 400, **more: str) -> None:
        super().__init__(error)
        self.status = status
        self.body = {"error": error, "error_description": text, **more}


class GoogleOAuth:
    def __init__(self, state: ProviderState, mailboxes: GmailMailboxes) -> None:
        self._state = state
        self._settings = state.settings
        self._mailboxes = mailboxes

    # Certificates

    async def certificates_pem(self, _: Request) -> Response:
        key = self._state.google_key
        return JSONResponse({key.kid: key.certificate_pem()}, headers={"cache-control": "public, max-age=20000"})

    async def certificates_jwk(self, _: Request) -> Response:
        return JSONResponse(
            {"keys": [self._state.google_key.public_jwk()]}, headers={"cache-control": "public, max-age=20000"}
        )

    # Authorize

    async def answer_authorize(self, request: Request) -> Response:
        fields = list(request.query_params.multi_items()) if request.method == "GET" else await read_form(request)
        form = dict(fields)
        if form.get("client_id") != self._settings.google_client_id:
            return build_error_page(BRAND, "Error 401: invalid_client. The OAuth client was not found.", 401)
        if form.get("redirect_uri") not in self._settings.registered_redirects():
            return build_error_page(BRAND, "Error 400: redirect_uri_mismatch")
        scopes = form.get("scope", "").split()
        unknown = [scope for scope in scopes if scope not in MAIL_SCOPES and scope not in _IDENTITY]
        if not scopes or unknown:
            return build_error_page(BRAND, f"Error 400: invalid_scope. {' '.join(unknown)}")
        if form.get("response_type") != "code":
            return build_error_page(BRAND, "Error 400: unsupported_response_type")
        if form.get("prompt") == "none":
            return self._redirect_back(form, error="interaction_required")
        if request.method == "POST":
            allowed = [value for name, value in fields if name == "scope_allowed"]
            return self._apply_decision(form, [scope for scope in scopes if scope in allowed or scope in _IDENTITY])
        return self._show_consent_page(form, scopes)

    def _show_consent_page(self, form: Mapping[str, str], scopes: list[str]) -> Response:
        accounts = [account.address for account in self._mailboxes.list_accounts()]
        hint = form.get("login_hint", "").lower()
        return build_consent_page(
            brand=BRAND,
            accounts=accounts,
            preselected=next((address for address in accounts if address.lower() == hint), None),
            scopes=scopes,
            parameters={name: form[name] for name in _AUTHORIZE_PARAMETERS if name in form},
            scopes_can_be_unticked=True,
        )

    def _apply_decision(self, form: Mapping[str, str], scopes: list[str]) -> Response:
        if form.get("decision") != "accept":
            return self._redirect_back(form, error="access_denied")
        account = self._mailboxes.find_account(form.get("account", ""))
        if account is None:
            return build_error_page(BRAND, "Couldn't find your Google GoogleAccount.")
        first = self._state.tokens.record_consent(PROVIDER, account.user_id, form["client_id"])
        offline = form.get("access_type") == "offline"
        code = self._state.tokens.issue_code(
            ConsentRecord(
                provider=PROVIDER,
                user_id=account.user_id,
                tenant_id=account.domain,
                client_id=form["client_id"],
                redirect_uri=form["redirect_uri"],
                scopes=frozenset(_IDENTITY.get(scope, scope) for scope in scopes),
                nonce=form.get("nonce"),
                challenge=form.get("code_challenge"),
                challenge_method=form.get("code_challenge_method"),
                wants_refresh=offline and (first or "consent" in form.get("prompt", "").split()),
            )
        )
        return self._redirect_back(form, code=code, scope=" ".join(_IDENTITY.get(scope, scope) for scope in scopes))

    def _redirect_back(self, form: Mapping[str, str], **answer: str) -> Response:
        state = {"state": form["state"]} if "state" in form else {}
        return answer_by_redirect(form["redirect_uri"], {**state, **answer})

    # Token

    async def answer_token(self, request: Request) -> Response:
        started = time.monotonic()
        form = dict(await read_form(request))
        mailbox: list[str] = []
        try:
            response = JSONResponse(self._issue_tokens(request, form, mailbox), headers={"cache-control": "no-store"})
        except GoogleTokenRefusal as refusal:
            response = JSONResponse(refusal.body, status_code=refusal.status)
        call = Call("POST", request.url.path, {}, {}, b"", "")
        self._state.calls.record_call(
            PROVIDER, call, CallFacts(mailbox[0] if mailbox else None), response.status_code, started
        )
        return response

    def _issue_tokens(self, request: Request, form: dict[str, str], mailbox: list[str]) -> dict[str, object]:
        if form.get("grant_type") == _JWT_BEARER:
            return self._issue_for_assertion(request, form, mailbox)
        if form.get("client_id") != self._settings.google_client_id:
            raise GoogleTokenRefusal("invalid_client", "The OAuth client was not found.", 401)
        if form.get("client_secret") != self._settings.google_client_secret.get_secret_value():
            raise GoogleTokenRefusal("invalid_client", "Unauthorized", 401)
        match form.get("grant_type"):
            case "authorization_code":
                return self._issue_for_code(form, mailbox)
            case "refresh_token":
                return self._issue_for_refresh_token(form, mailbox)
            case other:
                raise GoogleTokenRefusal("unsupported_grant_type", f"Invalid grant_type: {other or ''}")

    def _issue_for_code(self, form: Mapping[str, str], mailbox: list[str]) -> dict[str, object]:
        code = form.get("code", "")
        consent, _ = self._state.tokens.find_consent(PROVIDER, code)
        if consent is None:
            raise GoogleTokenRefusal("invalid_grant", "Bad Request")
        if form.get("redirect_uri") != consent.redirect_uri:
            raise GoogleTokenRefusal("redirect_uri_mismatch", "Bad Request")
        if not proves_challenge(consent.challenge, consent.challenge_method, form.get("code_verifier")):
            raise GoogleTokenRefusal("invalid_grant", "Invalid code verifier.")
        holder = self._state.tokens.redeem_code(code, consent)
        account = self._require_account(holder, mailbox)
        answer = self._issue_access_token(holder)
        if consent.wants_refresh:
            answer["refresh_token"] = self._refresh_token(holder)
        if "openid" in holder.scopes:
            answer["id_token"] = self._build_id_token(holder, account, consent.nonce)
        return answer

    def _issue_for_refresh_token(self, form: Mapping[str, str], mailbox: list[str]) -> dict[str, object]:
        """No rotation: the answer has no refresh token, the old one goes on."""
        found = self._state.tokens.find_token("refresh", PROVIDER, form.get("refresh_token", ""))
        if found.holder is None:
            raise GoogleTokenRefusal("invalid_grant", "Bad Request")
        account = self._require_account(found.holder, mailbox)
        if fault := self._state.faults.use_fault_once(
            UnavailableFault, account.address, lambda fault: fault.concerns("/token")
        ):
            raise GoogleTokenRefusal("server_error", "The service is currently unavailable.", fault.status)
        parallel = self._state.tokens.is_used_in_parallel(
            form.get("refresh_token", ""), account.address, self._state.faults
        )
        if found.problem or parallel:
            raise GoogleTokenRefusal("invalid_grant", "Token has been expired or revoked.")
        answer = self._issue_access_token(found.holder)
        if "openid" in found.holder.scopes:
            answer["id_token"] = self._build_id_token(found.holder, account, None)
        return answer

    def _issue_for_assertion(self, request: Request, form: Mapping[str, str], mailbox: list[str]) -> dict[str, object]:
        """A service account that acts for a user of its domain."""
        endpoint = f"{request.url.scheme}://{request.headers['host']}{request.url.path}"
        try:
            claims = jwt.decode(
                form.get("assertion", ""),
                self._state.service_account_key.public_pem(),
                algorithms=["RS256"],
                audience=[_TOKEN_AUDIENCE, endpoint],
                issuer=SERVICE_ACCOUNT,
                leeway=30,
                options={"require": ["iss", "aud", "iat", "exp"]},
            )
        except jwt.InvalidTokenError as error:
            raise GoogleTokenRefusal("invalid_grant", "Invalid JWT Signature.") from error
        scopes = frozenset(str(claims.get("scope", "")).split())
        if not scopes or not scopes <= MAIL_SCOPES.keys():
            text = (
                "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any"
                " of the scopes requested."
            )
            raise GoogleTokenRefusal("unauthorized_client", text, 401)
        account = self._mailboxes.find_account(str(claims.get("sub", "")))
        if account is None:
            raise GoogleTokenRefusal("invalid_grant", "Invalid email or User ID")
        mailbox[:] = [account.address.lower()]
        holder = Holder(PROVIDER, account.user_id, account.domain, SERVICE_ACCOUNT, scopes, str(uuid.uuid4()))
        answer = self._issue_access_token(holder)
        del answer["scope"]
        return answer

    # Revoke

    async def answer_revoke(self, request: Request) -> Response:
        """Ends every token of this user and client, whichever of them is presented."""
        started = time.monotonic()
        value = dict([*request.query_params.multi_items(), *await read_form(request)]).get("token", "")
        tokens = self._state.tokens
        holders = [
            found.holder
            for found in (tokens.find_token("access", PROVIDER, value), tokens.find_token("refresh", PROVIDER, value))
            if found.holder is not None and found.problem in (None, "expired")
        ]
        mailbox = None
        if holders and holders[0].user_id:
            account = self._mailboxes.find_account(holders[0].user_id)
            mailbox = account.address.lower() if account else None
            tokens.revoke_user_grants(PROVIDER, holders[0].user_id, holders[0].client_id, access_too=True)
            response = JSONResponse({})
        else:
            response = JSONResponse(
                {"error": "invalid_token", "error_description": "Token expired or revoked"}, status_code=400
            )
        call = Call("POST", request.url.path, {}, {}, b"", "")
        self._state.calls.record_call(PROVIDER, call, CallFacts(mailbox), response.status_code, started)
        return response

    # Tokens

    def _require_account(self, holder: Holder, mailbox: list[str]) -> GoogleAccount:
        account = self._mailboxes.find_account(holder.user_id or "")
        if account is None:
            raise GoogleTokenRefusal("invalid_grant", "GoogleAccount has been deleted")
        mailbox[:] = [account.address.lower()]
        return account

    def _issue_access_token(self, holder: Holder) -> dict[str, object]:
        lifetime = self._settings.access_token_lifetime_s
        token = f"ya29.a0{uuid.uuid4().hex}{uuid.uuid4().hex}{uuid.uuid4().hex}"
        self._state.tokens.store_token("access", token, holder, timedelta(seconds=lifetime))
        return {
            "access_token": token,
            "expires_in": lifetime,
            "scope": " ".join(sorted(holder.scopes)),
            "token_type": "Bearer",
        }

    def _refresh_token(self, holder: Holder) -> str:
        """The oldest of a hundred makes room, without a word to anybody."""
        if holder.user_id is None:
            raise GoogleTokenRefusal("invalid_grant", "Bad Request")
        living = self._state.tokens.list_living_refresh_tokens(PROVIDER, holder.user_id, holder.client_id)
        for old in living[: max(0, len(living) - MAX_REFRESH_TOKENS + 1)]:
            self._state.tokens.kill_digest(old, "displaced")
        token = f"1//0{uuid.uuid4().hex}{uuid.uuid4().hex}-{uuid.uuid4().hex[:20]}"
        self._state.tokens.store_token("refresh", token, holder, REFRESH_LIFETIME)
        return token

    def _build_id_token(self, holder: Holder, account: GoogleAccount, nonce: str | None) -> str:
        now = int(self._state.now().timestamp())
        claims: dict[str, object] = {
            "iss": ISSUER,
            "azp": holder.client_id,
            "aud": holder.client_id,
            "sub": account.user_id,
            "hd": account.domain,
            "email": account.address,
            "email_verified": True,
            "iat": now,
            "exp": now + 3600,
        }
        if nonce is not None:
            claims["nonce"] = nonce
        return self._state.google_key.sign_claims(claims)


def write_service_account_file(state: ProviderState) -> None:
    """The key file of the service account that may act for the domain's users, as Google hands them out."""
    settings = state.settings
    content = {
        "type": "service_account",
        "project_id": "mailroom-sandbox",
        "private_key_id": state.service_account_key.kid,
        "private_key": state.service_account_key.private_pem(),
        "client_email": SERVICE_ACCOUNT,
        "client_id": "100000000000000000001",
        "token_uri": f"https://{settings.host}:{settings.google_port}/token",
    }
    file = settings.state / SERVICE_ACCOUNT_FILE
    file.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    file.chmod(0o600)
