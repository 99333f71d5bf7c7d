"""Google's OAuth: consent, refresh and revocation, plain over httpx.

google-auth is left out on purpose: its transports block, it reads the environment's proxy variables, and what it does
here is three POSTs. The id_token comes straight from the token endpoint over TLS, which stands for its signature
(OpenID Connect Core 3.1.3.7, item 6); issuer, audience, time and nonce are checked.
Source: providers/gmail.md 2 and 3.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

import httpx
import jwt

from mailroom_common.errors import ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.calls import GrantToken
from mailroom_common.providers.http import BaseURL, parse_retry_after_s, read_origin, send_request
from mailroom_common.providers.oauth import build_grant, map_code_refusal, map_refresh_refusal, request_token
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Account, Folder, Grant, Mailbox
from mailroom_gmail.mail import SLOTS_PER_MAILBOX, GmailMail
from mailroom_gmail.settings import CLIENT_VARIABLES, TRAITS, GmailSettings

_ISSUERS = ("https://accounts.google.com", "accounts.google.com")
_CLOCK_LEEWAY_S = 60
_GOOGLE = "https://www.googleapis.com/auth/"
# A Gmail token with both `readonly` and `metadata` is refused `q` and full messages: never ask for both.
_GOOGLE_READ = {Profile.OBSERVATION: f"{_GOOGLE}gmail.metadata"}

_GOOGLE_FULL = {f"{_GOOGLE}gmail.readonly", f"{_GOOGLE}gmail.modify", "https://mail.google.com/"}


class GoogleIdentity:
    """`Consent` for Gmail; also refreshes grants. Google has no tenants."""

    traits = TRAITS

    def __init__(self, settings: GmailSettings, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._client_id = str(settings.google_client_id)
        self._client_secret = (
            "" if settings.google_client_secret is None else settings.google_client_secret.get_secret_value()
        )
        self._http = http
        self.page_origin = read_origin(settings.google_authorize_url, variable="MAILROOM_GOOGLE_AUTHORIZE_URL")
        self._gmail = BaseURL(settings.gmail_url)

    async def build_authorize_url(
        self,
        _tenant: str | None,
        *,
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
            "scope": " ".join(choose_scopes(profile)),
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
        _tenant: str | None,
        *,
        profile: Profile,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        nonce: str,
    ) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await request_token(
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
            raise map_code_refusal(answer.parse_object_or_empty(), setting=CLIENT_VARIABLES)
        payload = answer.parse_object()
        claims = self._check_id_token(payload.get("id_token"), nonce)
        grant = build_grant(payload, asked_at=asked_at, id_claims=claims)
        if grant.refresh_token is None:
            raise Rejected("no refresh token came with the sign-in")
        # An answer without scopes gave what was asked for (RFC 6749, 5.1).
        if grant.scopes:
            check_scopes(profile, grant.scopes)
        return grant

    def _check_id_token(self, id_token: object, nonce: str) -> dict[str, object]:
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

    async def identify_account(self, _tenant: str | None, grant: Grant) -> Account:
        request = self._http.build_request(
            "GET",
            self._gmail.build_url("/gmail/v1/users/me/profile"),
            headers={"Authorization": f"Bearer {grant.access_token}"},
        )
        answer = await send_request(self._http, request)
        if answer.status in (400, 401, 403, 404):
            raise Rejected(f"Gmail answered {answer.status} when asked who signed in: the account may have no Gmail")
        if not answer.is_success:
            wait_s = parse_retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Gmail answered {answer.status} to who signed in", retry_after_s=wait_s)
        address, domain = answer.parse_object().get("emailAddress"), grant.id_claims.get("hd")
        if not isinstance(address, str) or "@" not in address:
            raise ProviderUnavailable("Gmail left out whose mailbox this is")
        tenant = domain if isinstance(domain, str) else None
        # Gmail's own word: the address that this mailbox receives mail at.
        return Account(str(grant.id_claims["sub"]), address, tenant=tenant, verified_addresses=(address,))

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        mail = GmailMail(self._http, self._gmail, GrantToken(grant.access_token), Quota(slots=SLOTS_PER_MAILBOX))
        return await mail.list_folders(mailbox)

    async def revoke_grant(self, refresh_token: str) -> None:
        """Ends every grant of this account with us. A token that is already gone is answered 400: that is the aim."""
        # Beside the token endpoint, where Google has it; so a double is reached by the one setting.
        url = httpx.URL(self._settings.google_token_url).join("revoke")
        request = self._http.build_request("POST", url, data={"token": refresh_token})
        answer = await send_request(self._http, request)
        # Retried after a lost answer, or revoked by the user meanwhile: the grant is gone, which was the aim.
        if answer.status == httpx.codes.BAD_REQUEST and answer.parse_object_or_empty().get("error") == "invalid_token":
            return
        if not answer.is_success:
            wait_s = parse_retry_after_s(answer.headers, now=datetime.now(UTC))
            raise ProviderUnavailable(f"Google answered {answer.status} to a revocation", retry_after_s=wait_s)

    async def refresh_grant(self, _mailbox: Mailbox, refresh_token: str) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await request_token(
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
            raise map_refresh_refusal(answer.parse_object_or_empty(), setting=CLIENT_VARIABLES)
        return build_grant(answer.parse_object(), asked_at=asked_at)


def choose_mail_scope(profile: Profile) -> str:
    return _GOOGLE_READ.get(profile, f"{_GOOGLE}gmail.readonly")


def choose_scopes(profile: Profile) -> tuple[str, ...]:
    return ("openid", "email", choose_mail_scope(profile))


def check_scopes(profile: Profile, granted: frozenset[str]) -> None:
    """The user can untick permissions on Google's page. Raises Rejected when reading is not allowed."""
    wanted = choose_mail_scope(profile)
    if wanted not in granted and (profile is Profile.OBSERVATION or not granted & _GOOGLE_FULL):
        raise Rejected(f"the permission {wanted.removeprefix(_GOOGLE)} was not given")
    if profile is not Profile.OBSERVATION and f"{_GOOGLE}gmail.metadata" in granted:
        raise Rejected("gmail.metadata was given beside gmail.readonly, which keeps messages from being read")
