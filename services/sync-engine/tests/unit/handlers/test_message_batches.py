"""A batch goes on without what fails for itself, and ends with what concerns the whole run, keeping what was done."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

import httpx
import pytest
from sync_harness import doc_source

from mailroom_common.budgets.waiting import limit_waiting
from mailroom_common.errors import (
    AccessDenied,
    ItemGone,
    MailroomError,
    ProviderUnavailable,
    Rejected,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import SyncReason
from mailroom_common.providers.calls import ProviderCall, ProviderCalls
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, MessageSummary
from mailroom_outlook.errors import map_refusal
from sync_engine.domain.message_records import MessageState, ProcessedMessage, SyncState
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.message_batches import MessageRef, MessageUnavailable, ProcessedBatch, process_each
from sync_engine.handlers.sync_run import SyncRun, build_mailbox

IDS = ["m0", "m1", "m2", "m3", "m4"]


def sync_run() -> SyncRun:
    source = doc_source()
    return SyncRun(
        source=source,
        mailbox=build_mailbox(source),
        provider=cast("MailReader", None),
        reasons=frozenset({SyncReason.NOTIFICATION}),
        state=SyncState(source_state="active"),
        started_at=datetime.now(UTC),
        timings=SyncTimings(),
    )


async def process(
    errors: Mapping[str, Exception], *, max_concurrent: int = 1, may_be_gone: bool = False
) -> ProcessedBatch:
    async def process_message(ref: MessageRef) -> ProcessedMessage:
        await asyncio.sleep(0)
        if error := errors.get(ref.message_id):
            raise error
        return ProcessedMessage(summary=MessageSummary(message_id=ref.message_id), state=MessageState.OPEN)

    refs = [MessageRef(message_id, may_be_gone=may_be_gone) for message_id in IDS]
    return await process_each(sync_run(), refs, process_message, max_concurrent=max_concurrent)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ItemGone("404"), "gone"),
        (AccessDenied("403"), "access_denied"),
        (Rejected("400"), "rejected"),
        (KeyError("a bug"), "crashed"),
    ],
)
async def test_what_fails_for_itself_costs_itself(error: Exception, reason: str) -> None:
    batch = await process({"m2": error})
    assert [message.message_id for message in batch.messages] == ["m0", "m1", "m3", "m4"]
    assert [(failure.message_id, failure.reason) for failure in batch.failed] == [("m2", reason)]
    assert batch.interruption is None


@pytest.mark.parametrize(
    "error", [Throttled("429"), Unavailable("no blob store"), TokenRefused("refused", grant_generation=1)]
)
async def test_what_concerns_the_run_interrupts_the_batch_and_keeps_what_was_done(error: MailroomError) -> None:
    batch = await process({"m2": error})
    assert [message.message_id for message in batch.messages] == ["m0", "m1"]
    assert batch.failed == ()
    assert batch.interruption is error


async def test_a_refusal_costs_one_message_a_moment_and_is_tried_again_after_the_others() -> None:
    order: list[str] = []

    async def process_message(ref: MessageRef) -> ProcessedMessage:
        order.append(ref.message_id)
        if ref.message_id == "m1" and order.count("m1") == 1:
            raise Throttled("429", retry_after_s=1)
        return ProcessedMessage(summary=MessageSummary(message_id=ref.message_id), state=MessageState.OPEN)

    refs = [MessageRef(message_id) for message_id in IDS]
    batch = await process_each(sync_run(), refs, process_message, max_concurrent=1)
    assert order == [*IDS, "m1"]
    assert [message.message_id for message in batch.messages] == IDS
    assert batch.interruption is None


async def test_a_message_that_is_throttled_while_others_are_served_is_parked_by_itself() -> None:
    batch = await process({"m1": Throttled("429", retry_after_s=1)})
    assert [message.message_id for message in batch.messages] == ["m0", "m2", "m3", "m4"]
    assert [(failure.message_id, failure.reason) for failure in batch.failed] == [("m1", "provider_unavailable")]
    assert batch.interruption is None


async def test_a_throttle_of_every_message_is_the_mailboxs_and_parks_none() -> None:
    batch = await process({message_id: Throttled("429", retry_after_s=1) for message_id in IDS})
    assert (batch.messages, batch.failed) == ((), ())
    assert isinstance(batch.interruption, Throttled)


async def test_a_throttle_that_the_run_may_not_wait_for_ends_it() -> None:
    with limit_waiting(10):
        batch = await process({"m1": Throttled("429", retry_after_s=11)})
    assert [message.message_id for message in batch.messages] == ["m0"]
    assert isinstance(batch.interruption, Throttled)


class _FixedToken:
    async def get_access_token(self, mailbox: Mailbox, /, *, rejected: str | None = None) -> str:
        return "token"


async def process_through_client(run: SyncRun, throttled_ids: list[str], *, retry_after_s: float) -> ProcessedBatch:
    """A run of a new worker whose client waits and pauses by itself, at a provider that throttles these messages."""

    def answer(request: httpx.Request) -> httpx.Response:
        message_id = request.url.path.rpartition("/")[2]
        if message_id in throttled_ids:
            return httpx.Response(429, headers={"Retry-After": str(retry_after_s)}, json={})
        return httpx.Response(200, json={"id": message_id})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        base = BaseURL("https://graph.test/v1.0")
        calls = ProviderCalls("outlook", http, base, _FixedToken(), Quota(slots=4), map_refusal)

        async def process_message(ref: MessageRef) -> ProcessedMessage:
            await calls.fetch_json(run.mailbox, ProviderCall(name="message", path=f"/{ref.message_id}"))
            return ProcessedMessage(summary=MessageSummary(message_id=ref.message_id), state=MessageState.OPEN)

        with limit_waiting(0.5):
            return await process_each(run, [MessageRef(key) for key in IDS], process_message, max_concurrent=3)


@pytest.mark.parametrize("retry_after_s", [0.2, 30])
async def test_a_message_that_is_always_throttled_is_parked_within_three_runs(retry_after_s: float) -> None:
    run = sync_run()
    batches = [await process_through_client(run, ["m0"], retry_after_s=retry_after_s) for _ in range(3)]
    parked = [batch for batch in batches if batch.failed]
    assert [[failure.message_id for failure in batch.failed] for batch in parked] == [["m0"]]
    assert [message.message_id for message in parked[0].messages] == IDS[1:]
    assert parked[0].interruption is None


async def test_a_throttled_mailbox_parks_no_message_in_three_runs() -> None:
    run = sync_run()
    batches = [await process_through_client(run, IDS, retry_after_s=30) for _ in range(3)]
    assert [batch.failed for batch in batches] == [(), (), ()]
    assert all(isinstance(batch.interruption, Throttled) for batch in batches)


async def test_what_is_under_way_at_an_interruption_comes_to_its_end_and_nothing_new_is_begun() -> None:
    batch = await process({"m0": Throttled("429")}, max_concurrent=3)
    assert [message.message_id for message in batch.messages] == ["m1", "m2"]


async def test_a_provider_that_fails_over_one_message_parks_that_one_and_ends_the_run() -> None:
    batch = await process({"m2": ProviderUnavailable("500", retry_after_s=7), "m3": ProviderUnavailable("500")})
    assert [failure.message_id for failure in batch.failed] == ["m2"]
    assert isinstance(batch.interruption, MessageUnavailable)
    assert batch.interruption.retry_after_s == 7


async def test_a_message_that_was_listed_as_removed_may_be_gone() -> None:
    batch = await process({"m2": ItemGone("404")}, may_be_gone=True)
    assert (len(batch.messages), batch.failed) == (4, ())


async def test_results_stand_in_the_order_of_the_page() -> None:
    batch = await process({}, max_concurrent=3)
    assert [message.message_id for message in batch.messages] == IDS
