"""Proves that a push comes from our Pub/Sub subscription: by a static token, a token signed by Google, or both.

Source: Google Cloud, "Authenticate push subscriptions".
"""

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

import jwt

from webhook_gateway.adapters.google_public_keys import GooglePublicKeys

_ISSUERS = ["https://accounts.google.com", "accounts.google.com"]
_REQUIRED_CLAIMS = ["exp", "iat", "aud", "iss", "email", "email_verified"]
_LEEWAY_S = 30
_KEY_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class GoogleTokenVerifier:
    """Verifies the OIDC token in the `Authorization` header of a push."""

    keys: GooglePublicKeys
    audience: str
    service_account: str

    async def is_genuine(self, authorization: str | None) -> bool:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return False
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            key = await self.keys.find_key(key_id, timeout_s=_KEY_TIMEOUT_S) if isinstance(key_id, str) else None
            if key is None:
                return False
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self.audience,
                issuer=_ISSUERS,
                leeway=_LEEWAY_S,
                options={"require": _REQUIRED_CLAIMS},
            )
        except jwt.PyJWTError:
            return False
        # Anybody with a Google account can get a signed token for our URL as audience, so the audience proves nothing
        # by itself: the token must be of our service account, and its address verified.
        return claims["email"] == self.service_account and claims["email_verified"] is True


class PubSubAuthenticator:
    """Every proof that is configured is required; with none configured, every push is refused."""

    def __init__(self, *, static_token: str | None, token_verifier: GoogleTokenVerifier | None) -> None:
        self._static_token_hash = None if static_token is None else _hash_token(static_token)
        self._token_verifier = token_verifier

    async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
        if self._static_token_hash is None and self._token_verifier is None:
            return False
        if self._static_token_hash is not None and not compare_digest(
            _hash_token(token or ""), self._static_token_hash
        ):
            return False
        return self._token_verifier is None or await self._token_verifier.is_genuine(authorization)


def _hash_token(token: str) -> bytes:
    """Hashes are compared instead of tokens: `compare_digest` needs equal lengths, and takes no text beyond ASCII."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
