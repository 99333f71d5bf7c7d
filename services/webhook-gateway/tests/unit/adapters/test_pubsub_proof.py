"""Tokens that Google signed: signature, audience, issuer, service account; keys fetched in the background."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from mailroom_common.errors import Unavailable
from webhook_gateway.adapters import google_keys
from webhook_gateway.adapters.google_keys import GoogleKeys
from webhook_gateway.adapters.pubsub_proof import GoogleSigned, PubSubProof

AUDIENCE = "https://mail.example.com/webhooks/gmail"
ACCOUNT = "push@acme.iam.gserviceaccount.com"
KEYS = {kid: rsa.generate_private_key(public_exponent=65537, key_size=2048) for kid in ("k1", "k2", "stranger")}


@dataclass
class Google:
    """Serves the keys, and can be away."""

    offered: list[str] = field(default_factory=lambda: ["k1"])
    is_away: bool = False
    fetches: int = 0

    def answer(self, _request: httpx.Request) -> httpx.Response:
        self.fetches += 1
        if self.is_away:
            return httpx.Response(503, text="<html>")
        keys = [{**RSAAlgorithm.to_jwk(KEYS[kid].public_key(), as_dict=True), "kid": kid} for kid in self.offered]
        return httpx.Response(200, json={"keys": keys}, headers={"cache-control": "public, max-age=20000"})


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {
        "aud": AUDIENCE,
        "azp": "1",
        "sub": "1",
        "email": ACCOUNT,
        "email_verified": True,
        "iat": now,
        "exp": now + 3600,
        "iss": "https://accounts.google.com",
    }
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def bearer(kid: str = "k1", signer: str | None = None, **changes: Any) -> str:
    return "Bearer " + jwt.encode(claims(**changes), KEYS[signer or kid], "RS256", headers={"kid": kid})


@asynccontextmanager
async def judged(google: Google) -> AsyncIterator[GoogleSigned]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(google.answer)) as http:
        keys = GoogleKeys(http, "https://certs.test/certs")
        running = asyncio.create_task(keys.run())
        try:
            async with asyncio.timeout(5):
                await keys._fetched.wait()
            yield GoogleSigned(keys, AUDIENCE, ACCOUNT)
        finally:
            running.cancel()


async def test_a_token_of_our_service_account_for_our_audience_is_genuine() -> None:
    async with judged(Google()) as signed:
        assert await signed.is_genuine(bearer())
        assert await signed.is_genuine(bearer(iss="accounts.google.com"))


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example.com"},
        {"iss": "https://evil.example.com"},
        {"email": "somebody@gmail.com"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": None},
        {"aud": None},
    ],
)
async def test_every_claim_has_to_be_right(changes: dict[str, Any]) -> None:
    async with judged(Google()) as signed:
        assert not await signed.is_genuine(bearer(**changes))


async def test_a_signature_by_another_key_is_refused() -> None:
    async with judged(Google()) as signed:
        assert not await signed.is_genuine(bearer("k1", signer="stranger"))


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Bearer x.y.z", "Basic abc", "Bearer é"])
async def test_what_is_no_token_is_refused(authorization: str | None) -> None:
    async with judged(Google()) as signed:
        assert not await signed.is_genuine(authorization)


async def test_an_unsigned_token_and_one_signed_with_the_public_key_are_refused() -> None:
    unsigned = jwt.encode(claims(), "", "none", headers={"kid": "k1"})
    symmetric = jwt.encode(claims(), "x" * 32, "HS256", headers={"kid": "k1"})

    async with judged(Google()) as signed:
        assert not await signed.is_genuine(f"Bearer {unsigned}")
        assert not await signed.is_genuine(f"Bearer {symmetric}")


async def test_a_new_key_is_fetched_in_the_background_and_its_token_is_genuine() -> None:
    google = Google()
    async with judged(google) as signed:
        google.offered.append("k2")
        assert await signed.is_genuine(bearer("k2"))
        assert google.fetches == 2


async def test_made_up_key_ids_force_one_fetch_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    google = Google()
    async with judged(google) as signed:
        for _ in range(20):
            assert not await signed.is_genuine(bearer("stranger"))
        assert google.fetches == 2

        monkeypatch.setattr(google_keys, "_FORCED_AT_MOST_EVERY_S", 0.0)
        assert not await signed.is_genuine(bearer("stranger"))
        assert google.fetches == 3


async def test_known_keys_stay_while_google_is_away() -> None:
    google = Google()
    async with judged(google) as signed:
        google.is_away = True
        assert not await signed.is_genuine(bearer("k2"))
        assert await signed.is_genuine(bearer("k1"))


async def test_without_any_key_nothing_can_be_judged() -> None:
    async with judged(Google(is_away=True)) as signed:
        with pytest.raises(Unavailable):
            await signed.is_genuine(bearer())


async def test_what_is_configured_is_required() -> None:
    async with judged(Google()) as signed:
        both = PubSubProof(static_token="tok", signed=signed)
        assert await both.is_genuine(authorization=bearer(), token="tok")
        assert not await both.is_genuine(authorization=bearer(), token=None)
        assert not await both.is_genuine(authorization=None, token="tok")

        only_signed = PubSubProof(static_token=None, signed=signed)
        assert await only_signed.is_genuine(authorization=bearer(), token=None)
        assert not await only_signed.is_genuine(authorization=None, token="tok")

        nothing = PubSubProof(static_token=None, signed=None)
        assert not await nothing.is_genuine(authorization=bearer(), token="tok")
