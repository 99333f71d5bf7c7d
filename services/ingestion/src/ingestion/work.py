"""The loops of the worker process: who wakes up when, and for what."""

import asyncio
import contextlib
from collections.abc import Coroutine
from datetime import timedelta

from ingestion.adapters.channels import UNNUMBERED, WORK
from ingestion.adapters.document_events import PgDocumentEvents
from ingestion.adapters.leases import PgLeases
from ingestion.adapters.wakeups import Wakeups
from ingestion.handlers.process_document import ProcessDocument
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger

log = get_logger()

# NOTIFY wakes these loops; the longest pause is the net below a lost one, and below a clock that was set.
_LONGEST_PAUSE_S = 5.0
_FORGET_EVERY_S = 3600.0
_GRACE_S = 2.0  # of the 8 s that a stopping process has


async def process_documents(
    process: ProcessDocument, leases: PgLeases, wakeups: Wakeups, stopping: asyncio.Event
) -> None:
    """One document after the other, for as long as there are any; then sleep until one is due. Run several."""
    while not stopping.is_set():
        heard = wakeups.count(WORK)
        try:
            if await _until_stopped(process.next(), stopping):
                continue
            due_in_s = await leases.due_in_s()
        except Retryable as error:
            log.warning("worker_waits", reason=str(error))
            due_in_s = 1.0
            heard = wakeups.count(WORK)
        # What is due now and could not be claimed is another's for the moment.
        pause_s = _LONGEST_PAUSE_S if due_in_s is None else min(max(due_in_s, 0.05), _LONGEST_PAUSE_S)
        await wakeups.wait(WORK, beyond=heard, timeout_s=pause_s)


async def _until_stopped(work: Coroutine[None, None, bool], stopping: asyncio.Event) -> bool:
    """Let a document end by itself for a moment after the stop, then put it back."""
    working, stop = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({working, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait({working}, timeout=_GRACE_S)
        working.cancel()
        return await working
    except asyncio.CancelledError:
        if stopping.is_set() and working.cancelled():
            return False
        raise
    finally:
        stop.cancel()
        working.cancel()


async def number_events(events: PgDocumentEvents, wakeups: Wakeups, stopping: asyncio.Event) -> None:
    """Give document events their numbers as they come. Several instances at once take turns."""
    while not stopping.is_set():
        heard = wakeups.count(UNNUMBERED)
        try:
            if await events.number():
                continue
        except Retryable as error:
            log.warning("sequencer_waits", reason=str(error))
        await wakeups.wait(UNNUMBERED, beyond=heard, timeout_s=_LONGEST_PAUSE_S)


async def forget_events(events: PgDocumentEvents, keep: timedelta, stopping: asyncio.Event) -> None:
    """Delete what is older than `keep`, in batches, once an hour."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and (count := await events.forget(keep)):
                log.info("document_events_forgotten", count=count)
        except Retryable as error:
            log.warning("retention_waits", reason=str(error))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), _FORGET_EVERY_S)
