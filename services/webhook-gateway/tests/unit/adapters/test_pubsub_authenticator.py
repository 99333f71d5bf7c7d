"""The static token, and every claim of a token that Google signed."""

import hmac
import time
from typing import Any

import jwt
import pytest
from fake_google import FakeGoogle, make_bearer, make_claims, open_verifier

from webhook_gateway.adapters import pubsub_authenticator
from webhook_gateway.adapters.pubsub_authenticator import PubSubAuthenticator


async def test_a_token_of_our_service_account_for_our_audience_is_genuine() -> None:
    async with open_verifier(FakeGoogle()) as verifier:
        assert await verifier.is_genuine(make_bearer())
        assert await verifier.is_genuine(make_bearer(iss="accounts.google.com"))


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
    async with open_verifier(FakeGoogle()) as verifier:
        assert not await verifier.is_genuine(make_bearer(**changes))


async def test_a_signature_by_another_key_is_refused() -> None:
    async with open_verifier(FakeGoogle()) as verifier:
        assert not await verifier.is_genuine(make_bearer("k1", signer="stranger"))


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Bearer x.y.z", "Basic abc", "Bearer é"])
async def test_what_is_no_token_is_refused(authorization: str | None) -> None:
    async with open_verifier(FakeGoogle()) as verifier:
        assert not await verifier.is_genuine(authorization)


async def test_a_genuine_token_under_another_scheme_is_refused() -> None:
    token = make_bearer().removeprefix("Bearer ")
    async with open_verifier(FakeGoogle()) as verifier:
        assert await verifier.is_genuine(f"bearer {token}")
        assert not await verifier.is_genuine(f"Basic {token}")


async def test_an_unsigned_token_and_one_signed_with_the_public_key_are_refused() -> None:
    unsigned = jwt.encode(make_claims(), "", "none", headers={"kid": "k1"})
    symmetric = jwt.encode(make_claims(), "x" * 32, "HS256", headers={"kid": "k1"})

    async with open_verifier(FakeGoogle()) as verifier:
        assert not await verifier.is_genuine(f"Bearer {unsigned}")
        assert not await verifier.is_genuine(f"Bearer {symmetric}")


async def test_what_is_configured_is_required() -> None:
    async with open_verifier(FakeGoogle()) as verifier:
        both = PubSubAuthenticator(static_token="tok", token_verifier=verifier)
        assert await both.is_genuine(authorization=make_bearer(), token="tok")
        assert not await both.is_genuine(authorization=make_bearer(), token=None)
        assert not await both.is_genuine(authorization=None, token="tok")

        only_signed = PubSubAuthenticator(static_token=None, token_verifier=verifier)
        assert await only_signed.is_genuine(authorization=make_bearer(), token=None)
        assert not await only_signed.is_genuine(authorization=None, token="tok")

        nothing = PubSubAuthenticator(static_token=None, token_verifier=None)
        assert not await nothing.is_genuine(authorization=make_bearer(), token="tok")


async def test_the_static_token_is_compared_as_a_hash_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def record_comparison(received: bytes, expected: bytes) -> bool:
        compared.append((received, expected))
        return hmac.compare_digest(received, expected)

    monkeypatch.setattr(pubsub_authenticator, "compare_digest", record_comparison)
    authenticator = PubSubAuthenticator(static_token="tok", token_verifier=None)
    for token in ("tok", "wrong", "", None):
        assert await authenticator.is_genuine(authorization=None, token=token) == (token == "tok")

    assert len(compared) == 4
    assert {len(text) for pair in compared for text in pair} == {32}
