"""Google as it serves its keys and signs tokens, for the tests of what verifies them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from webhook_gateway.adapters.google_public_keys import GooglePublicKeys
from webhook_gateway.adapters.pubsub_authenticator import GoogleTokenVerifier

AUDIENCE = "https://mail.example.com/webhooks/gmail"
SERVICE_ACCOUNT = "push@acme.iam.gserviceaccount.com"
KEYS = {kid: rsa.generate_private_key(public_exponent=65537, key_size=2048) for kid in ("k1", "k2", "stranger")}
PUBLIC_KEYS: dict[str, dict[str, Any]] = {
    **{kid: RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) for kid, key in KEYS.items()},
    "elliptic": ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True),
}


@dataclass
class FakeGoogle:
    """Serves its public keys, or fails."""

    served_key_ids: list[str] = field(default_factory=lambda: ["k1"])
    is_away: bool = False
    fetches: int = 0
    served: asyncio.Event = field(default_factory=asyncio.Event)  # set once the keys were served

    def respond(self, _request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.is_away:
            return httpx.Response(503, text="<html>")
        self.served.set()
        keys = [{**PUBLIC_KEYS[kid], "kid": kid} for kid in self.served_key_ids]
        return httpx.Response(200, json={"keys": keys}, headers={"cache-control": "public, max-age=20000"})


def make_claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    defaults = {
        "aud": AUDIENCE,
        "azp": "1",
        "sub": "1",
        "email": SERVICE_ACCOUNT,
        "email_verified": True,
        "iat": now,
        "exp": now + 3600,
        "iss": "https://accounts.google.com",
    }
    return {name: value for name, value in {**defaults, **changes}.items() if value is not None}


def make_bearer(kid: str = "k1", signer: str | None = None, **changes: Any) -> str:
    return "Bearer " + jwt.encode(make_claims(**changes), KEYS[signer or kid], "RS256", headers={"kid": kid})


@asynccontextmanager
async def open_verifier(google: FakeGoogle) -> AsyncIterator[GoogleTokenVerifier]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(google.respond)) as http:
        keys = GooglePublicKeys(http, "https://certs.test/certs")
        running = asyncio.create_task(keys.refresh_keys())
        try:
            await keys.wait_for_fetch(5.0)
            yield GoogleTokenVerifier(keys, AUDIENCE, SERVICE_ACCOUNT)
        finally:
            running.cancel()
