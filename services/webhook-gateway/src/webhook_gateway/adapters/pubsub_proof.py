"""Whether a push comes from our Pub/Sub subscription: by a static token, by a token that Google signed, or by both.

Source: Google Cloud, "Authenticate push subscriptions". Anyone with a Google account can have a token with our URL as
audience, so audience alone proves nothing: `email` must be our service account, and verified.
"""

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

import jwt

from webhook_gateway.adapters.google_keys import GoogleKeys

_ISSUERS = ["https://accounts.google.com", "accounts.google.com"]
_REQUIRED = ["exp", "iat", "aud", "iss", "email", "email_verified"]
_LEEWAY_S = 30
_WAIT_FOR_KEYS_S = 1.0


@dataclass(frozen=True, slots=True)
class GoogleSigned:
    keys: GoogleKeys
    audience: str
    service_account: str

    async def is_genuine(self, authorization: str | None) -> bool:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return False
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = await self.keys.key(key_id, wait_s=_WAIT_FOR_KEYS_S) if isinstance(key_id, str) else None
            if key is None:
                return False
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self.audience,
                issuer=_ISSUERS,
                leeway=_LEEWAY_S,
                options={"require": _REQUIRED},
            )
        except jwt.PyJWTError:
            return False
        return claims["email"] == self.service_account and claims["email_verified"] is True


class PubSubProof:
    """What is configured is required. With nothing configured nobody can prove anything: every push is refused."""

    def __init__(self, *, static_token: str | None, signed: GoogleSigned | None) -> None:
        self._token_digest = None if static_token is None else _digest(static_token)
        self._signed = signed

    async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
        if self._token_digest is None and self._signed is None:
            return False
        if self._token_digest is not None and not compare_digest(_digest(token or ""), self._token_digest):
            return False
        return self._signed is None or await self._signed.is_genuine(authorization)


def _digest(token: str) -> bytes:
    """Compared instead of the token itself: equal lengths, and any text."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
