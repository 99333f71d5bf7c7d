"""Google's public keys: fetched in the background, kept while Google is away, and rarely forced."""

import pytest
from fake_google import FakeGoogle, make_bearer, open_verifier

from mailroom_common.errors import Unavailable
from webhook_gateway.adapters import google_public_keys


async def test_a_new_key_is_fetched_in_the_background_and_its_token_is_genuine() -> None:
    google = FakeGoogle()
    async with open_verifier(google) as verifier:
        google.served_key_ids.append("k2")
        assert await verifier.is_genuine(make_bearer("k2"))
        assert google.fetches == 2


async def test_made_up_key_ids_force_one_fetch_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    google = FakeGoogle()
    async with open_verifier(google) as verifier:
        for _ in range(20):
            assert not await verifier.is_genuine(make_bearer("stranger"))
        assert google.fetches == 2

        monkeypatch.setattr(google_public_keys, "_MIN_S_BETWEEN_FORCED_FETCHES", 0.0)
        assert not await verifier.is_genuine(make_bearer("stranger"))
        assert google.fetches == 3


async def test_known_keys_stay_while_google_is_away() -> None:
    google = FakeGoogle()
    async with open_verifier(google) as verifier:
        google.is_away = True
        assert not await verifier.is_genuine(make_bearer("k2"))
        assert await verifier.is_genuine(make_bearer("k1"))


async def test_without_any_key_nothing_can_be_open_verifier() -> None:
    async with open_verifier(FakeGoogle(is_away=True)) as verifier:
        with pytest.raises(Unavailable):
            await verifier.is_genuine(make_bearer())
