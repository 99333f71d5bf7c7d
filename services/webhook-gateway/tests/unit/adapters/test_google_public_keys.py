"""Google's public keys: fetched in the background, kept while Google is away, and rarely forced."""

import asyncio

import httpx
import pytest
from fake_google import FakeGoogle, make_bearer, open_verifier

from mailroom_common.errors import Unavailable
from webhook_gateway.adapters import google_public_keys
from webhook_gateway.adapters.google_public_keys import parse_fresh_s


async def test_a_new_key_is_fetched_in_the_background_and_its_token_is_genuine() -> None:
    google = FakeGoogle()
    async with open_verifier(google) as verifier:
        google.served_key_ids.append("k2")
        assert await verifier.is_genuine(make_bearer("k2"))
        assert google.fetches == 2


@pytest.mark.parametrize("is_away", [False, True])
async def test_who_waits_for_a_fetch_goes_on_as_soon_as_it_was_attempted(is_away: bool) -> None:
    async with open_verifier(FakeGoogle(is_away=is_away)) as verifier, asyncio.timeout(5):
        await verifier.keys.wait_for_fetch(60)


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


async def test_without_any_key_no_token_can_be_judged() -> None:
    async with open_verifier(FakeGoogle(is_away=True)) as verifier:
        with pytest.raises(Unavailable):
            await verifier.is_genuine(make_bearer())


async def test_a_failed_fetch_is_repeated_without_anybody_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(google_public_keys, "_FIRST_RETRY_S", 0.01)
    google = FakeGoogle(is_away=True)
    async with open_verifier(google):
        google.is_away = False
        await asyncio.wait_for(google.served.wait(), 5)


async def test_the_pause_between_failed_fetches_doubles_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def record_pause(_event: asyncio.Event, timeout_s: float) -> None:
        pauses.append(timeout_s)
        if len(pauses) == 8:
            raise asyncio.CancelledError

    monkeypatch.setattr(google_public_keys, "_wait_for_event", record_pause)
    async with httpx.AsyncClient(transport=httpx.MockTransport(FakeGoogle(is_away=True).respond)) as client:
        with pytest.raises(asyncio.CancelledError):
            await google_public_keys.GooglePublicKeys(client, "https://certs.test/certs").refresh_keys()

    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


async def test_the_next_fetch_is_made_when_the_keys_are_fresh_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def record_pause(_event: asyncio.Event, timeout_s: float) -> None:
        pauses.append(timeout_s)
        raise asyncio.CancelledError

    monkeypatch.setattr(google_public_keys, "_wait_for_event", record_pause)
    async with httpx.AsyncClient(transport=httpx.MockTransport(FakeGoogle().respond)) as client:
        with pytest.raises(asyncio.CancelledError):
            await google_public_keys.GooglePublicKeys(client, "https://certs.test/certs").refresh_keys()

    assert pauses == [20_000]


async def test_keys_in_an_answer_that_says_it_failed_are_not_taken() -> None:
    served = FakeGoogle()

    def fail(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500, content=served.respond(request).content)

    async with httpx.AsyncClient(transport=httpx.MockTransport(fail)) as client:
        keys = google_public_keys.GooglePublicKeys(client, "https://certs.test/certs")
        with pytest.raises(httpx.HTTPStatusError):
            await keys._fetch_keys()


async def test_a_key_of_another_kind_is_not_kept() -> None:
    async with open_verifier(FakeGoogle(served_key_ids=["k1", "elliptic"])) as verifier:
        assert await verifier.keys.find_key("k1", timeout_s=1) is not None
        assert await verifier.keys.find_key("elliptic", timeout_s=1) is None


@pytest.mark.parametrize(
    ("cache_control", "fresh_s"),
    [
        ("public, max-age=20000, must-revalidate", 20_000),
        ("max-age=1", 60),  # no more than a fetch a minute
        ("max-age=9999999", 6 * 3600),  # a withdrawn key must not count for ever
        ("no-store", 3600),
    ],
)
def test_keys_are_fresh_as_long_as_google_says_within_bounds(cache_control: str, fresh_s: float) -> None:
    assert parse_fresh_s({"cache-control": cache_control}) == fresh_s
    assert parse_fresh_s({}) == 3600


async def test_a_token_that_names_a_key_of_another_kind_is_refused() -> None:
    async with open_verifier(FakeGoogle(served_key_ids=["k1", "elliptic"])) as verifier:
        assert await verifier.is_genuine(make_bearer("k1"))
        assert not await verifier.is_genuine(make_bearer("elliptic", signer="stranger"))
