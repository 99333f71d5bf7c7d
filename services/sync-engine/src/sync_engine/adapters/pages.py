"""The page transaction (design 5.3, 5.4): all of a batch of a page commits together, or nothing of it."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from mailroom_common.events import DocSource, DocSourceState, Profile
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SYNC_PARTS_NOT_TAKEN
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL, MAIL_EVENTS
from sync_engine.adapters.cursors import move_cursor
from sync_engine.adapters.ingestion_states import PgIngestionStates, list_shared_ids
from sync_engine.adapters.messages import (
    insert_parts,
    mark_listed,
    remember_passed_over,
    update_retried_parts,
    upsert_messages,
)
from sync_engine.adapters.parked_items import park_messages, resolve_items
from sync_engine.adapters.recorded_mail_events import record_mail_events
from sync_engine.adapters.uploads import delete_upload_records
from sync_engine.domain.mail_events import map_attachment_event
from sync_engine.domain.message_records import CommittedPage, PageUpdate, ProcessedMessage, SkippedPart
from sync_engine.domain.parts import NOT_TAKEN
from sync_engine.domain.run_outcomes import SourceNotActive

log = get_logger()


class PgPages:
    """`Pages` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, states: PgIngestionStates) -> None:
        self._pool = pool
        self._outbox = outbox
        self._states = states

    async def commit_page(self, source: DocSource, update: PageUpdate, now: datetime) -> CommittedPage:
        async with open_transaction(self._pool) as conn:
            await _lock_source(conn, source, update)
            await move_cursor(conn, source, update, now)
            update = await self._states.lock_claims(conn, source, update)
            new_ids = await upsert_messages(conn, source, update.messages, now)
            changed = [message for message in update.messages if message.message_id in new_ids]
            written = await insert_parts(conn, source, changed, now)
            retried = await update_retried_parts(conn, source, update.retried, now)
            await delete_upload_records(conn, (*update.messages, *update.retried))
            await self._states.mark_messages(conn, source.doc_source_id, list_shared_ids(update))
            await self._append_events(conn, source, update, [*written, *retried], now)
            await resolve_items(conn, source, update)
            await park_messages(conn, source, update.failed, now)
            await remember_passed_over(conn, source, update.passed_over)
            await mark_listed(conn, source, update.seen_message_ids, now)
            # What is parked only is no progress: it would reset the pause that its own failure makes longer.
            has_new = any(not message.is_parked_only for message in written)
            has_progress = has_new or update.leaves_page or any(message.parts for message in retried)
            if update.resets_back_off and has_progress:
                await conn.execute(
                    "update sync_engine.sync_state set failed_attempts = 0, stalled_since = null "
                    "where doc_source_id = $1",
                    source.doc_source_id,
                )
        _report_not_taken(source, [*written, *retried])
        return CommittedPage(new_ids, sum(len(message.stored_parts) for message in (*written, *retried)))

    async def _append_events(
        self,
        conn: DatabaseSession,
        source: DocSource,
        update: PageUpdate,
        messages: Sequence[ProcessedMessage],
        now: datetime,
    ) -> None:
        for message in messages:
            key = f"{source.doc_source_id}:{message.message_id}"
            topic = ATTACHMENTS_BACKFILL if update.is_backfill(message, now) else ATTACHMENTS
            for part in message.stored_parts:
                event = map_attachment_event(source, message, part, now)
                await self._outbox.append_record(conn, topic, key, event, aggregate=key)
        mail_events = [event for message in messages for event in message.mail_events]
        for mail_event in await record_mail_events(conn, mail_events):
            await self._outbox.append_record(
                conn, MAIL_EVENTS, source.doc_source_id, mail_event, aggregate=source.doc_source_id
            )


def _report_not_taken(source: DocSource, messages: Sequence[ProcessedMessage]) -> None:
    """No document tells of such a part."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, SkippedPart) and part.skip_reason in NOT_TAKEN:
                SYNC_PARTS_NOT_TAKEN.labels(part.skip_reason).inc()
                # It may be an invoice: somebody has to fetch it from the mailbox, or ask for a smaller one.
                log.warning(
                    "part_not_taken",
                    doc_source_id=source.doc_source_id,
                    message_id=message.message_id,
                    part_path=part.part_path,
                    reason=part.skip_reason,
                )


async def _lock_source(conn: DatabaseSession, source: DocSource, update: PageUpdate) -> None:
    """The source stays as it is until the page is committed: a pause or a deletion that comes meanwhile waits, and a
    page that comes after one is refused."""
    # Exclusive where the row itself is written: two transactions that share the lock and then both write would
    # deadlock. And for an observed mailbox, whose events have one order: its pages follow one another, also those of a
    # worker that has lost the partition.
    is_exclusive = source.profile is Profile.OBSERVATION or update.resets_back_off
    row = await conn.fetchrow(
        "select source_state, refused_generation, relist_number, forgotten_at from sync_engine.sync_state "  # noqa: S608  # one of two words
        f"where doc_source_id = $1 for {'no key update' if is_exclusive else 'share'}",
        source.doc_source_id,
    )
    if row is None or row["forgotten_at"] is not None:
        raise SourceNotActive("forgotten")
    if row["source_state"] != DocSourceState.ACTIVE:
        raise SourceNotActive(row["source_state"])
    if row["refused_generation"] is not None and row["refused_generation"] >= source.grant_generation:
        raise SourceNotActive("without a grant")
    # A run that was planned before the re-list has an older start than it may have to list from. The versions of the
    # cursors do not tell it: who begins the re-list raises number and cursors in one transaction under this row's lock,
    # so a page of the older run comes before it, and its cursor starts anew, or after it; and then the run reads its
    # cursor once more (CursorConflict), lists from its own start, and would end the round as if all had been listed.
    # No order of two re-lists differs from that: the row has the newest number, and only runs planned with it move on.
    if row["relist_number"] > source.relist_number:
        raise SourceNotActive("to be listed again")
