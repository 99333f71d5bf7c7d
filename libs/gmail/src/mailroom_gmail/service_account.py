"""Application access to Gmail: a service account with domain-wide delegation acts as the mailbox's user.

Source: providers/gmail.md 3.
"""

import time
from datetime import UTC, datetime
from typing import Any

import httpx
import jwt
import orjson

from mailroom_common.errors import AccessDenied, MailroomError, SettingsError
from mailroom_common.providers.http import sanitize_code
from mailroom_common.providers.oauth import build_grant, map_refresh_refusal, request_token
from mailroom_common.providers.types import Grant, Mailbox
from mailroom_gmail.consent import choose_mail_scope

_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
# What Google expects whatever the address of the endpoint; google-auth writes the same.
_ASSERTION_AUDIENCE = "https://oauth2.googleapis.com/token"
_ASSERTION_LIFETIME_S = 3600


class GoogleServiceAccount:
    """`ApplicationTokenIssuer` for Gmail."""

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

    def build_cache_key(self, mailbox: Mailbox) -> str:
        return f"{mailbox.address.lower()} {choose_mail_scope(mailbox.profile)}"

    async def issue_token(self, mailbox: Mailbox) -> Grant:
        asked_at = datetime.now(UTC)
        answer = await request_token(
            self._http, self._token_url, {"grant_type": _JWT_BEARER, "assertion": self._build_assertion(mailbox)}
        )
        if not answer.is_success:
            raise self._map_refusal(answer.parse_object_or_empty())
        return build_grant(answer.parse_object(), asked_at=asked_at)

    def _build_assertion(self, mailbox: Mailbox) -> str:
        now = int(time.time())
        claims = {
            "iss": self._email,
            "sub": mailbox.address,
            "scope": choose_mail_scope(mailbox.profile),
            "aud": _ASSERTION_AUDIENCE,
            "iat": now,
            "exp": now + _ASSERTION_LIFETIME_S,
        }
        return jwt.encode(claims, self._private_key, algorithm="RS256", headers={"kid": self._key_id})

    def _map_refusal(self, payload: dict[str, Any]) -> MailroomError:  # Any: an error body
        """No delegation for this scope or domain, or no such user: only an administrator can change it."""
        error = sanitize_code(payload.get("error"))
        if error in ("unauthorized_client", "invalid_grant", "access_denied", "admin_policy_enforced"):
            return AccessDenied(f"Google answered {error} to the service account acting as this mailbox's user")
        return map_refresh_refusal(payload, setting="MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY")
