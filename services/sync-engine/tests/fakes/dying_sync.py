"""A sync run that kills its process, without a word, at the point it was given."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from crash_mailbox import crash_mailbox
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.blobs.store import BlobStore, StoredBlob
from mailroom_common.events import DocSource, Event, SyncReason
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession
from mailroom_common.topics import Topic
from sync_engine.adapters.pages import PgPages
from sync_engine.adapters.sync_states import PgSyncStates
from sync_engine.domain.message_records import CommittedPage, FullRound, PageUpdate
from sync_engine.domain.run_outcomes import RunOutcome, RunUnfinished
from sync_engine.handlers.run_sync import RunSync


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown:
    """Dies at the n-th passing of its own point, and lets all others pass."""

    def __init__(self, stop_at: str) -> None:
        self._point, _, number = stop_at.partition(":")
        self._left = int(number)

    def passes(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                die()


class DyingPages(PgPages):
    def __init__(self, engine: Engine, countdown: Countdown) -> None:
        super().__init__(engine.pool, DyingOutbox(engine, countdown), engine.ingestion_states)
        self._countdown = countdown

    async def commit_page(self, source: DocSource, update: PageUpdate, now: datetime) -> CommittedPage:
        self._countdown.passes("before_commit")
        committed = await super().commit_page(source, update, now)
        self._countdown.passes("after_commit")
        return committed


class DyingStates(PgSyncStates):
    def __init__(self, engine: Engine, countdown: Countdown) -> None:
        super().__init__(engine.pool, engine.clock)
        self._countdown = countdown

    async def begin_full_round(self, source: DocSource, full_round: FullRound) -> None:
        self._countdown.passes("before_slice_end")
        await super().begin_full_round(source, full_round)
        self._countdown.passes("after_slice_end")

    async def record_success(self, source: DocSource, full_round: FullRound | None) -> None:
        self._countdown.passes("before_end")
        await super().record_success(source, full_round)


class DyingOutbox(Outbox):
    def __init__(self, engine: Engine, countdown: Countdown) -> None:
        super().__init__("sync_engine", engine.codec)
        self._countdown = countdown

    async def append_record(
        self,
        conn: DatabaseSession,
        topic: Topic,
        key: str,
        event: Event | None,
        *,
        aggregate: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        await super().append_record(conn, topic, key, event, aggregate=aggregate, headers=headers)
        self._countdown.passes("mid_page")


class DyingBlobs:
    def __init__(self, blobs: BlobStore, countdown: Countdown) -> None:
        self._blobs = blobs
        self._countdown = countdown
        self.read_blob, self.delete_blob, self.has_blob = blobs.read_blob, blobs.delete_blob, blobs.has_blob

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        async def passing() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                self._countdown.passes("mid_blob")
                yield chunk

        stored = await self._blobs.write_blob(key, passing(), content_type=content_type, metadata=metadata)
        self._countdown.passes("after_blob")
        return stored


def run_and_die(database_url: str, blobs: Path, doc_source_id: str, provider: str, stop_at: str) -> None:
    asyncio.run(_run(database_url, blobs, doc_source_id, provider, stop_at))


async def _run(database_url: str, blobs: Path, doc_source_id: str, provider: str, stop_at: str) -> None:
    source = doc_source(provider, doc_source_id=doc_source_id)
    countdown = Countdown(stop_at)
    mailbox = crash_mailbox(source.provider)

    async def passes_fetch(_: str) -> None:
        countdown.passes("after_fetch")

    mailbox.meanwhile["open_part"] = passes_fetch
    async with open_engine(database_url, blobs, source, mailbox) as engine:
        run = RunSync(
            providers={source.provider: mailbox},
            repositories=replace(
                engine.repositories,
                pages=DyingPages(engine, countdown),
                states=DyingStates(engine, countdown),
            ),
            blobs=DyingBlobs(engine.blobs, countdown),
            containers=engine.containers,
            clock=engine.clock,
            # A slice ends wherever it may.
            timings=replace(engine.timings, slice_duration=timedelta(0)) if "slice" in stop_at else engine.timings,
        )
        outcome: RunOutcome | None = None
        while outcome is None or isinstance(outcome, RunUnfinished):
            outcome = await run.sync_mailbox(source, reasons=frozenset({SyncReason.CONNECT}))
