"""The parts of one mail: what was judged before a throttle is kept, whatever it was judged to be."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest
from sync_harness import doc_source

from mailroom_common.blobs import BlobStore
from mailroom_common.errors import Throttled
from mailroom_common.events import Profile, SyncReason
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Message, MessageSummary, Part, PartKind
from sync_engine.domain.mail_allowance import MailAllowance
from sync_engine.domain.message_records import (
    DueMessage,
    DuePart,
    ParkedPart,
    ParkedReason,
    SkippedPart,
    StoredPart,
    SyncState,
)
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.claim_messages import ClaimMessages
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.message_batches import MessageInterrupted
from sync_engine.handlers.store_part import StorePart
from sync_engine.handlers.store_parts import StoreParts, park_part
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.ports import ContainerOpener, Messages, Uploads

CALLS_OF_A_RUN = 294  # attachments.get of 20 units, of a quota of 5,880
PARTS = [
    Part(part_path=str(number), kind=PartKind.FILE, filename="n.bin", content_type=None, size_bytes=100)
    for number in range(1000)
]
MESSAGE = Message(MessageSummary(message_id="m1"), tuple(PARTS), "")


class BudgetedStorePart:
    """Judges each part to be no document, until the quota of the run is used up."""

    def __init__(self) -> None:
        self.left = CALLS_OF_A_RUN

    async def store_part(
        self, _run: SyncRun, _message: Message, part: Part, **_judgement: object
    ) -> tuple[SkippedPart]:
        if not self.left:
            raise Throttled("the quota is used up")
        self.left -= 1
        skipped = SkippedPart(
            part_path=part.part_path,
            filename=part.filename,
            content_type=part.content_type,
            size_bytes=part.size_bytes,
            skip_reason="not_a_document",
        )
        return (skipped,)


class OneMessage:
    traits = SimpleNamespace(reports_inline_parts=True)

    async def fetch_message(self, *_which: object, **_how: object) -> Message:
        return MESSAGE


class OnePicture:
    @asynccontextmanager
    async def open_part(self, *_which: object) -> AsyncIterator[AsyncIterator[bytes]]:
        async def yield_head() -> AsyncIterator[bytes]:
            yield b"\x89PNG\r\n\x1a\n" + b"\x00" * 100

        yield yield_head()


def sync_run() -> SyncRun:
    source = doc_source(profile=Profile.INVOICE)
    return SyncRun(
        source=source,
        mailbox=build_mailbox(source),
        provider=cast("MailReader", OneMessage()),
        reasons=frozenset({SyncReason.NOTIFICATION}),
        state=SyncState(source_state="active"),
        started_at=datetime.now(UTC),
        timings=SyncTimings(),
    )


async def test_a_mail_of_a_thousand_parts_without_a_document_ends_in_four_runs() -> None:
    store_part = BudgetedStorePart()
    store_parts = StoreParts(cast("StorePart", store_part))
    unread, runs = PARTS, 0
    while unread:
        assert runs < 4, "a run kept nothing of what it had judged"
        runs, store_part.left = runs + 1, CALLS_OF_A_RUN
        results = await store_parts.store_parts(sync_run(), MESSAGE, unread, rejection=None)
        parked = {part.part_path for part in results.parts if isinstance(part, ParkedPart)}
        assert bool(parked) == (results.interruption is not None)
        unread = [part for part in unread if part.part_path in parked]
    assert runs == 4


async def test_what_containers_hold_counts_among_the_parts_of_a_mail() -> None:
    class ContainerOfMany:
        async def store_part(self, run: SyncRun, message: Message, part: Part, **_: object) -> list[SkippedPart]:
            return list(await BudgetedStorePart().store_part(run, message, part)) * 500

    results = await StoreParts(cast("StorePart", ContainerOfMany())).store_parts(
        sync_run(), MESSAGE, PARTS[:10], rejection=None
    )
    beyond = [part for part in results.parts if isinstance(part, SkippedPart) and part.skip_reason == "too_many_parts"]
    assert (len(results.parts), [part.part_path for part in beyond]) == (2006, ["4", "5", "6", "7", "8", "9"])


class LargeStorePart:
    """Stores each part, as one of many bytes."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self.allowances: list[MailAllowance] = []

    async def store_part(
        self, _run: SyncRun, _message: Message, part: Part, *, allowance: MailAllowance, **_: object
    ) -> tuple[StoredPart]:
        self.allowances.append(allowance)
        stored = StoredPart(
            part_path=part.part_path,
            attachment_id=part.part_path,
            filename=None,
            content_type="application/pdf",
            size_bytes=self._size_bytes,
            content_sha256="",
            blob_key="",
        )
        return (stored,)


async def test_what_is_stored_of_one_mail_has_a_bound_of_bytes() -> None:
    store_part = LargeStorePart(200 * 1024 * 1024)
    store_parts = StoreParts(cast("StorePart", store_part))
    for _ in range(2):  # each mail has its own
        store_part.allowances.clear()
        results = await store_parts.store_parts(sync_run(), MESSAGE, PARTS[:5], rejection=None)
        reasons = [part.skip_reason for part in results.parts if isinstance(part, SkippedPart)]
        assert (results.has_stored, reasons) == (True, ["too_many_parts"] * 2)
        assert len(store_part.allowances) == 3
        assert len({id(allowance) for allowance in store_part.allowances}) == 1


async def test_what_is_left_of_a_mail_after_two_minutes_is_for_the_next_run() -> None:
    seconds = iter([0.0, 60.0, 119.0, 121.0, 121.0])
    store_parts = StoreParts(cast("StorePart", BudgetedStorePart()), monotonic=lambda: next(seconds))
    results = await store_parts.store_parts(sync_run(), MESSAGE, PARTS[:5], rejection=None)
    assert [getattr(part, "parked_reason", None) for part in results.parts] == [
        *(None, None, None),
        *(ParkedReason.NOT_FETCHED, ParkedReason.NOT_FETCHED),
    ]
    assert results.interruption is None


async def test_the_first_part_of_a_mail_is_read_however_late_it_is() -> None:
    seconds = iter([0.0, 1000.0])
    store_parts = StoreParts(cast("StorePart", BudgetedStorePart()), monotonic=lambda: next(seconds))
    results = await store_parts.store_parts(sync_run(), MESSAGE, PARTS[:2], rejection=None)
    assert [type(part) for part in results.parts] == [SkippedPart, ParkedPart], "otherwise no run would get further"


async def test_a_throttle_before_anything_was_judged_is_the_runs() -> None:
    store_part = BudgetedStorePart()
    store_part.left = 0
    with pytest.raises(Throttled):
        await StoreParts(cast("StorePart", store_part)).store_parts(sync_run(), MESSAGE, PARTS, rejection=None)


async def test_nothing_of_a_body_is_kept_once_its_mail_is_done() -> None:
    html = "<img src='cid:shown'>" + "x" * 1_000_000
    message = replace(MESSAGE, html_body=html)
    picture = replace(PARTS[0], filename="a.png", content_type="image/png", content_id="shown")
    references = sys.getrefcount(html)
    provider = cast("MailReader", OnePicture())
    store_parts = StoreParts(StorePart(cast("BlobStore", None), cast("Uploads", None), cast("ContainerOpener", None)))
    results = await store_parts.store_parts(
        replace(sync_run(), provider=provider), message, [picture, picture], rejection=None
    )
    assert [part.skip_reason for part in results.parts if isinstance(part, SkippedPart)] == ["referenced_by_body"] * 2
    assert sys.getrefcount(html) == references


async def test_parked_parts_that_turn_out_to_be_no_documents_are_kept_when_a_throttle_ends_their_retry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages, claims = cast("Messages", None), cast("ClaimMessages", None)
    collect = CollectMessages(
        cast("BlobStore", None),
        cast("Uploads", None),
        cast("ContainerOpener", None),
        messages,
        claims,
        max_concurrent=1,
    )
    monkeypatch.setattr(collect, "_parts", StoreParts(cast("StorePart", BudgetedStorePart())))
    with pytest.raises(MessageInterrupted) as interrupted:
        await collect.retry_parts(sync_run(), due_message())
    kept = interrupted.value.processed.parts
    assert len(kept) == CALLS_OF_A_RUN
    assert not any(isinstance(part, StoredPart | ParkedPart) for part in kept)


def due_message() -> DueMessage:
    now, reason = datetime.now(UTC), ParkedReason.NOT_FETCHED
    due_parts = [
        DuePart(part=park_part(part, reason, "the quota is used up"), attempts=1, first_failed_at=now) for part in PARTS
    ]
    return DueMessage(message_id="m1", folder_id="f", folder="Inbox", due_parts=tuple(due_parts))
