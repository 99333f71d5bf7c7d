"""Google's OAuth: consent, refresh, revocation, and delegated service accounts, plain over httpx.

google-auth is left out on purpose: its transports block, it reads the environment's proxy variables, and what it does
here is three POSTs. The id_token comes straight from the token endpoint over TLS, which stands for its signature
(OpenID Connect Core 3.1.3.7, item 6); issuer, audience, time and nonce are checked.
Source: providers/gmail.md 2 and 3.
"""

import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx
import jwt
import orjson

from mailroom_common.errors import AccessDenied, MailroomError, ProviderUnavailable, Rejected, SettingsError
from mailroom_common.events.terms import Profile, Provider
from mailroom_common.providers.http import BaseURL, code_word, exchange, retry_after_s
from mailroom_common.providers.oauth import ask_token_endpoint, grant_of, refusal_of_code, refusal_of_refresh
from mailroom_common.providers.port import Account, Grant, Mailbox
from mailroom_common.providers.scopes import check_google, google_mail_scope, google_scopes
from mailroom_common.settings import ProviderSettings

_ISSUERS = ("https://accounts.google.com", "accounts.google.com")
_SECRET = "MAILROOM_GOOGLE_CLIENT_ID and MAILROOM_GOOGLE_CLIENT_SECRET"  # noqa: S105  # names, no values
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
# What Google expects whatever the address of the endpoint; google-auth writes the same.
_ASSERTION_AUDIENCE = "https://oauth2.googleapis.com/token"
_ASSERTION_LIFETIME_S = 3600
_CLOCK_LEEWAY_S = 60


class GoogleIdentity:
    """`ConnectsMailboxes` for Gmail; also refreshes grants."""

    provider = Provider.GMAIL

    def __init__(
        self, settings: ProviderSettings, *, client_id: str, client_secret: str, http: httpx.AsyncClient
    ) -> None:
        self._settings = settings
        self._client_id = client_id
        self._client_secret = client_secret
        self._http = http
        self._gmail = BaseURL(settings.gmail_url)

    async def authorize_url(
        self,
        *,
        tenant: str | None,  # noqa: ARG002  # Google has none; the port is the same for both
        profile: Profile,
        redirect_uri: str,
        state: str,
        nonce: str,
        code_challenge: str,
        login_hint: str | None,
    ) -> str:
        query = {
            "client_id": self._client_id,
            "response_type": "code",
            "redirect_uri": redirect_uri,
            "scope": " ".join(google_scopes(profile)),
            "state": state,
            "nonce": nonce,
            "code_challenge": code_challenge,
            "code_challenge_method": "S256",
            # Both together bring a refresh token at every consent; either alone does not.
            "access_type": "offline",
            "prompt": "consent",
        }
        query |= {"login_hint": login_hint} if login_hint else {}
        endpoint = self._settings.google_authorize_url
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def exchange_code(
        self,
        *,
        tenant: str | None,  # noqa: ARG002
        profile: Profile,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        nonce: str,
    ) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await ask_token_endpoint(
            self._http,
            self._settings.google_token_url,
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": code_verifier,
                "client_id": self._client_id,
                "client_secret": self._client_secret,
            },
        )
        if not answer.is_success:
            raise refusal_of_code(answer.json_or_nothing(), setting=_SECRET)
        payload = answer.json()
        claims = self._id_claims(payload.get("id_token"), nonce)
        grant = grant_of(payload, asked_at=asked_at, id_claims=claims)
        if grant.refresh_token is None:
            raise Rejected("no refresh token came with the sign-in")
        if grant.scopes:
            check_google(profile, grant.scopes)
        return grant

    def _id_claims(self, id_token: object, nonce: str) -> dict[str, object]:
        if not isinstance(id_token, str):
            raise Rejected("no id_token came with the sign-in")
        try:
            claims: dict[str, object] = jwt.decode(
                id_token,
                audience=self._client_id,
                issuer=_ISSUERS,
                leeway=_CLOCK_LEEWAY_S,
                options={
                    "verify_signature": False,
                    "verify_exp": True,
                    "verify_aud": True,
                    "verify_iss": True,
                    "require": ["iss", "aud", "exp", "sub"],
                },
            )
        except jwt.InvalidTokenError as error:
            raise Rejected(f"the id_token is not for us: {type(error).__name__}") from None
        if claims.get("nonce") != nonce:
            raise Rejected("the id_token belongs to another sign-in")
        return claims

    async def identify(self, grant: Grant) -> Account:
        request = self._http.build_request(
            "GET",
            self._gmail.join("/gmail/v1/users/me/profile"),
            headers={"Authorization": f"Bearer {grant.access_token}"},
        )
        answer = await exchange(self._http, request)
        if answer.status in (400, 401, 403, 404):
            raise Rejected(f"Gmail answered {answer.status} when asked who signed in: the account may have no Gmail")
        if not answer.is_success:
            wait_s = retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Gmail answered {answer.status} to who signed in", retry_after_s=wait_s)
        address, domain = answer.json().get("emailAddress"), grant.id_claims.get("hd")
        if not isinstance(address, str) or "@" not in address:
            raise ProviderUnavailable("Gmail left out whose mailbox this is")
        return Account(str(grant.id_claims["sub"]), address, (), domain if isinstance(domain, str) else None)

    async def revoke(self, refresh_token: str) -> None:
        """Ends every grant of this account with us. A token that is already gone is answered 400: that is the aim."""
        # Beside the token endpoint, where Google has it; so a double is reached by the one setting.
        url = httpx.URL(self._settings.google_token_url).join("revoke")
        request = self._http.build_request("POST", url, data={"token": refresh_token})
        answer = await exchange(self._http, request)
        if answer.status == httpx.codes.BAD_REQUEST and answer.json_or_nothing().get("error") == "invalid_token":
            return
        if not answer.is_success:
            wait_s = retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Google answered {answer.status} to a revocation", retry_after_s=wait_s)

    async def refresh(self, mailbox: Mailbox, refresh_token: str) -> Grant:  # noqa: ARG002  # Google has no tenants
        asked_at = datetime.now(UTC)
        answer = await ask_token_endpoint(
            self._http,
            self._settings.google_token_url,
            {
                "grant_type": "refresh_token",
                "refresh_token": refresh_token,
                "client_id": self._client_id,
                "client_secret": self._client_secret,
            },
        )
        if not answer.is_success:
            raise refusal_of_refresh(answer.json_or_nothing(), setting=_SECRET)
        return grant_of(answer.json(), asked_at=asked_at)


class GoogleServiceAccount:
    """Application access: a service account with domain-wide delegation acts as the mailbox's user."""

    def __init__(self, key: str, *, token_url: str, http: httpx.AsyncClient) -> None:
        """`key` is the JSON that Google hands out. Raises SettingsError when it is not."""
        try:
            parsed = orjson.loads(key)
            self._email, self._private_key = str(parsed["client_email"]), str(parsed["private_key"])
            self._key_id = str(parsed["private_key_id"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise SettingsError("MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY is no JSON key of a service account.") from None
        self._token_url = token_url
        self._http = http

    def application_key(self, mailbox: Mailbox) -> str:
        return f"{mailbox.address.lower()} {google_mail_scope(mailbox.profile)}"

    async def application_token(self, mailbox: Mailbox) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await ask_token_endpoint(
            self._http, self._token_url, {"grant_type": _JWT_BEARER, "assertion": self._assertion(mailbox)}
        )
        if not answer.is_success:
            raise self._refusal(answer.json_or_nothing())
        return grant_of(answer.json(), asked_at=asked_at)

    def _assertion(self, mailbox: Mailbox) -> str:
        now = int(time.time())
        claims = {
            "iss": self._email,
            "sub": mailbox.address,
            "scope": google_mail_scope(mailbox.profile),
            "aud": _ASSERTION_AUDIENCE,
            "iat": now,
            "exp": now + _ASSERTION_LIFETIME_S,
        }
        return jwt.encode(claims, self._private_key, algorithm="RS256", headers={"kid": self._key_id})

    def _refusal(self, payload: dict[str, Any]) -> MailroomError:  # Any: an error body
        """No delegation for this scope or domain, or no such user: an administrator's to mend, for this mailbox."""
        error = code_word(payload.get("error"))
        if error in ("unauthorized_client", "invalid_grant", "access_denied", "admin_policy_enforced"):
            return AccessDenied(f"Google answered {error} to the service account acting as this mailbox's user")
        return refusal_of_refresh(payload, setting="MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY")
