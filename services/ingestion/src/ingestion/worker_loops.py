"""The loops of the worker process: each waits for its signal, processes what there is, and ends with the process."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta

from ingestion.domain.lanes import Lane, LaneSchedule
from ingestion.handlers.learn_template import TemplateLearner
from ingestion.handlers.process_document import DocumentProcessor
from ingestion.ports.events import Channel, ChannelSignals
from ingestion.ports.housekeeping import (
    Backfill,
    BacklogStep,
    BlobSweep,
    DocumentCheck,
    EventLogMaintenance,
    LedgerReasons,
    OrderMatcher,
    ResultBacklog,
    SweptBlob,
    TradeAnnouncements,
    UnusedPasswords,
)
from ingestion.ports.leases import DocumentLeases
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_BACKLOG_AGE_S, INGESTION_BLOBS_UNDELETED
from mailroom_common.retries import backoff_s, wait_for_event

log = get_logger()

# NOTIFY wakes these loops. The longest pause covers a NOTIFY that was lost, and a clock that was set.
_LONGEST_PAUSE_S = 5.0
_SHORTEST_PAUSE_S = 0.05
_OUTBOX_PAUSE_S = 0.2
_PAUSE_AFTER_FAILURE_S = 1.0
_RETENTION_INTERVAL_S = 3600.0
_BACKLOG_INTERVAL_S = 15.0
_MAX_FAILURES_IN_A_ROW = 10
_BACKFILL_INTERVAL_S = 60.0
_LESSON_INTERVAL_S = 5.0
_STOP_GRACE_S = 2.0  # of the 8 s that a stopping process has


async def run_document_worker(
    processor: DocumentProcessor,
    leases: DocumentLeases,
    signals: ChannelSignals,
    stopping: asyncio.Event,
    schedule: LaneSchedule,
) -> None:
    """Process one document after the other while there are any, then wait until one is due. Several run at once."""
    while not stopping.is_set():
        # Counted before looking: a document that comes between the look and the wait ends the wait at once.
        seen = signals.count_signals(Channel.DOCUMENT_DUE)
        try:
            if await _finish_or_cancel(processor.process_next(schedule.choose_lanes()), stopping):
                continue
            due_in_s = await leases.read_seconds_until_due(schedule.lanes)
        except Retryable as error:
            # Postgres is away; documents stay where they are and are claimed when it is back.
            log.warning("claim_deferred", reason=str(error))
            # Not `retry_forever`: a signal, which the stop is too, has to end this pause like every other one here.
            due_in_s = backoff_s(1, initial_s=_PAUSE_AFTER_FAILURE_S, max_s=_PAUSE_AFTER_FAILURE_S)
            seen = signals.count_signals(Channel.DOCUMENT_DUE)
        # What is due now and could not be claimed is being claimed by another worker at this moment.
        pause_s = _LONGEST_PAUSE_S if due_in_s is None else min(max(due_in_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
        await signals.wait_for_signal(Channel.DOCUMENT_DUE, beyond=seen, timeout_s=pause_s)


async def _finish_or_cancel(work: Coroutine[None, None, bool], stopping: asyncio.Event) -> bool:
    """After the stop a document has a moment to finish; then it is cancelled, which releases it."""
    working, stop = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({working, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait({working}, timeout=_STOP_GRACE_S)
        working.cancel()
        return await working
    except asyncio.CancelledError:
        if stopping.is_set() and working.cancelled():
            return False
        raise
    finally:
        stop.cancel()
        working.cancel()


async def run_event_numbering(events: EventLogMaintenance, signals: ChannelSignals, stopping: asyncio.Event) -> None:
    """Give document events their numbers as they come. Several instances at once take turns."""
    while not stopping.is_set():
        seen = signals.count_signals(Channel.EVENT_UNNUMBERED)
        try:
            if await events.assign_numbers():
                continue
        except Retryable as error:
            # Postgres is away; event streams show new events once they are numbered.
            log.warning("event_numbering_deferred", reason=str(error))
        await signals.wait_for_signal(Channel.EVENT_UNNUMBERED, beyond=seen, timeout_s=_LONGEST_PAUSE_S)


async def run_trade_announcements(
    announcements: TradeAnnouncements, signals: ChannelSignals, stopping: asyncio.Event
) -> None:
    """Publish new results of documents whose trades other documents changed. Several instances at once share them."""
    while not stopping.is_set():
        seen = signals.count_signals(Channel.TRADES_CHANGED)
        try:
            if await announcements.announce_next():
                continue
        except Retryable as error:
            # Postgres is away; the results are published when it is back.
            log.warning("trade_announcement_deferred", reason=str(error))
        await signals.wait_for_signal(Channel.TRADES_CHANGED, beyond=seen, timeout_s=_LONGEST_PAUSE_S)


async def run_result_backlog(backlog: ResultBacklog, signals: ChannelSignals, stopping: asyncio.Event) -> None:
    """Write the results of documents with very many attachments, some at a time, as Kafka takes them."""
    while not stopping.is_set():
        seen, pause_s = signals.count_signals(Channel.RESULTS_WAITING), _LONGEST_PAUSE_S
        try:
            step = await backlog.write_some()
            if step is BacklogStep.WRITTEN:
                continue
            if step is BacklogStep.OUTBOX_FULL:
                pause_s = _OUTBOX_PAUSE_S  # nobody signals that Kafka took some
        except Retryable as error:
            # Postgres is away; the results are written when it is back.
            log.warning("result_backlog_deferred", reason=str(error))
        await signals.wait_for_signal(Channel.RESULTS_WAITING, beyond=seen, timeout_s=pause_s)


async def run_order_matching(matcher: OrderMatcher, signals: ChannelSignals, stopping: asyncio.Event) -> None:
    """Match pending orders and trades once either of them changed. Several instances take turns."""
    while not stopping.is_set():
        seen = signals.count_signals(Channel.TRADES_CHANGED)
        try:
            if await matcher.match_next():
                continue
        except Retryable as error:
            # Postgres is away; orders are matched when it is back.
            log.warning("order_matching_deferred", reason=str(error))
        await signals.wait_for_signal(Channel.TRADES_CHANGED, beyond=seen, timeout_s=_LONGEST_PAUSE_S)


async def run_backlog_report(leases: DocumentLeases, stopping: asyncio.Event) -> None:
    """Report, as a metric, how long the oldest document waits that could be read, whoever is to read it."""
    while not stopping.is_set():
        try:
            for lane in Lane:
                due_in_s = await leases.read_seconds_until_due([lane])
                INGESTION_BACKLOG_AGE_S.labels(lane.value).set(max(0.0, -(due_in_s or 0.0)))
        except Retryable as error:
            # Postgres is away; the metric keeps its value until it is back.
            log.warning("backlog_report_deferred", reason=str(error))
        await wait_for_event(stopping, _BACKLOG_INTERVAL_S)


async def run_event_retention(events: EventLogMaintenance, keep: timedelta, stopping: asyncio.Event) -> None:
    """Delete what is older than `keep`, in batches, once an hour."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and (count := await events.delete_events(older_than=keep)):
                log.info("document_events_deleted", count=count)
        except Retryable as error:
            # Postgres is away; the next round deletes what this one did not.
            log.warning("event_retention_deferred", reason=str(error))
        await wait_for_event(stopping, _RETENTION_INTERVAL_S)


async def run_blob_sweep(sweep: BlobSweep, stopping: asyncio.Event) -> None:
    """Delete what uploads that were cut off, and duplicates, left in the blob store, once an hour."""
    while not stopping.is_set():
        failed_in_a_row = 0
        try:
            # A store that is away, or deletes nothing, is not asked for each blob.
            while not stopping.is_set() and failed_in_a_row < _MAX_FAILURES_IN_A_ROW:
                swept = await sweep.sweep_blob()
                if swept is None:
                    break
                failed_in_a_row = failed_in_a_row + 1 if swept is SweptBlob.POSTPONED else 0
            INGESTION_BLOBS_UNDELETED.labels(sweep.kind).set(await sweep.count_undeleted())
        except Retryable as error:
            # Postgres is away; the next round deletes what this one did not.
            log.warning("blob_sweep_deferred", reason=str(error))
        await wait_for_event(stopping, _RETENTION_INTERVAL_S)


async def run_document_check(check: DocumentCheck, stopping: asyncio.Event) -> None:
    """Write what workers of an earlier release left out of the documents that they changed."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and await check.check_changes():
                pass
        except Retryable as error:
            # Postgres is away; the next round goes on where this one stopped.
            log.warning("document_check_deferred", reason=str(error))
        await wait_for_event(stopping, _BACKFILL_INTERVAL_S)


async def run_ledger_reasons(reasons: LedgerReasons, stopping: asyncio.Event) -> None:
    """Judge documents again that wait for a person since other documents' trades gave a reason."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and await reasons.recheck_some():
                pass
        except Retryable as error:
            # Postgres is away; the next round goes on where this one stopped.
            log.warning("ledger_reasons_deferred", reason=str(error))
        await wait_for_event(stopping, _BACKFILL_INTERVAL_S)


async def run_backfill(backfill: Backfill, stopping: asyncio.Event) -> None:
    """Write, in batches, what rows are without that are from before there was such a thing, or of a worker of an
    earlier release."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and (count := await backfill.write_missing()):
                log.info("backfill_written", backfill=backfill.name, count=count)
        except Retryable as error:
            # Postgres is away; the next round writes what this one did not.
            log.warning("backfill_deferred", backfill=backfill.name, reason=str(error))
        await wait_for_event(stopping, _BACKFILL_INTERVAL_S)


async def run_lessons(learner: TemplateLearner, stopping: asyncio.Event) -> None:
    """Learn from decided documents, one after the other: nothing waits for it but the supplier's next invoice."""
    while not stopping.is_set():
        try:
            if await _finish_or_cancel(learner.learn_next(), stopping):
                continue
        except Retryable as error:
            # Postgres, the blob store or this machine; the lesson is claimed again a minute later.
            log.warning("lesson_deferred", reason=str(error))
        except Exception as error:  # noqa: BLE001  # the edge of one lesson: others go on
            # A fault of ours; the lesson is tried again, five times at most, and then dropped.
            log.error("lesson_failed", reason=type(error).__name__)
        await wait_for_event(stopping, _LESSON_INTERVAL_S)


async def run_password_sweep(passwords: UnusedPasswords, stopping: asyncio.Event) -> None:
    """Forget the passwords of documents that nobody read in time, once an hour."""
    while not stopping.is_set():
        try:
            while not stopping.is_set() and (count := await passwords.forget_old_passwords()):
                log.info("document_passwords_forgotten", count=count)
        except Retryable as error:
            # Postgres is away; the next round forgets what this one did not.
            log.warning("password_sweep_deferred", reason=str(error))
        await wait_for_event(stopping, _RETENTION_INTERVAL_S)
