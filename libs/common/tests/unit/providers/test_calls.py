import time
from typing import Any

import httpx
import pytest

from mailroom_common.errors import AccessDenied, MailroomError, Rejected, Throttled, TokenRefused
from mailroom_common.providers.calls import GrantToken, ProviderCall, ProviderCalls, Refusal, format_query
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox


def map_refusal(_mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    if refusal.status == 429:
        return Throttled("429", retry_after_s=refusal.retry_after_s)
    return AccessDenied("401") if refusal.status == 401 else Rejected(refusal.build_sentence("Provider", "code"))


@pytest.fixture
def calls(http: httpx.AsyncClient, tokens: Any) -> ProviderCalls:
    return ProviderCalls("made-up", http, BaseURL("https://provider.example/v1"), tokens, Quota(slots=2), map_refusal)


LIST = ProviderCall(name="list", path="/items")


async def test_a_rejected_token_is_exchanged_once_and_the_call_repeated(
    calls: ProviderCalls, wire: Any, tokens: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(401), httpx.Response(200, json={"ok": True}))
    assert await calls.fetch_json(outlook, LIST) == {"ok": True}
    assert tokens.rejected == ["token-1"]
    assert [one.headers["Authorization"] for one in wire.requests] == ["Bearer token-1", "Bearer token-2"]


async def test_a_second_401_is_a_refusal(calls: ProviderCalls, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(401), httpx.Response(401))
    with pytest.raises(AccessDenied):
        await calls.fetch_json(outlook, LIST)
    assert len(wire.requests) == 2


async def test_a_throttle_pauses_its_mailbox_and_no_other(
    calls: ProviderCalls, wire: Any, outlook: Mailbox, gmail: Mailbox
) -> None:
    wire.plays(httpx.Response(429, headers={"Retry-After": "30"}), httpx.Response(200, json={}))
    for _ in range(2):
        with pytest.raises(Throttled):
            await calls.fetch_json(outlook, LIST)
    assert len(wire.requests) == 1
    assert await calls.fetch_json(gmail, LIST) == {}


async def test_a_throttled_call_is_made_again_after_its_pause(
    calls: ProviderCalls, wire: Any, outlook: Mailbox
) -> None:
    made_at: list[float] = []

    def answer(_request: httpx.Request) -> httpx.Response:
        made_at.append(time.monotonic())
        is_throttled = len(made_at) == 1
        return httpx.Response(429, headers={"Retry-After": "0.05"}) if is_throttled else httpx.Response(200, json={})

    wire.answer = answer
    assert await calls.fetch_json(outlook, LIST) == {}
    assert made_at[1] - made_at[0] >= 0.05


async def test_a_call_that_is_throttled_for_the_third_time_concerns_its_caller(
    calls: ProviderCalls, wire: Any, outlook: Mailbox
) -> None:
    wire.answer = lambda _request: httpx.Response(429, headers={"Retry-After": "0.01"})
    with pytest.raises(Throttled):
        await calls.fetch_json(outlook, LIST)
    assert len(wire.requests) == 3


async def test_a_throttle_that_names_no_wait_pauses_the_mailbox(
    calls: ProviderCalls, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(429))
    for _ in range(2):
        with pytest.raises(Throttled):
            await calls.fetch_json(outlook, LIST)


async def test_a_throttle_in_what_is_done_with_an_answer_repeats_no_call(
    calls: ProviderCalls, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json={}))
    with pytest.raises(Throttled):
        async with calls.stream_answer(outlook, LIST):
            raise Throttled("of another call", retry_after_s=0.01)


async def test_a_call_may_map_its_refusals_otherwise(calls: ProviderCalls, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(404, headers={"request-id": "r-1"}), httpx.Response(404))
    with pytest.raises(Rejected, match=r"Provider answered 404 code to list \(request r-1\)"):
        await calls.fetch_json(outlook, LIST)
    with pytest.raises(Throttled):
        await calls.fetch_json(outlook, LIST, map_refusal=lambda _mailbox, _refusal: Throttled("mine"))


async def test_a_grant_that_is_not_stored_yet_is_not_refreshed(outlook: Mailbox) -> None:
    source = GrantToken("access-canary")
    assert await source.get_access_token(outlook) == "access-canary"
    with pytest.raises(TokenRefused):
        await source.get_access_token(outlook, rejected="access-canary")
    assert "canary" not in repr(source)


def test_a_query_keeps_what_odata_reads_and_escapes_the_rest() -> None:
    assert format_query({"$filter": "a ge 2026-11-28T00:00:00Z", "b": ["x&y", "z"]}) == (
        "?$filter=a%20ge%202026-11-28T00:00:00Z&b=x%26y&b=z"
    )
    assert format_query({}) == ""
