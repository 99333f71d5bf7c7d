"""Rows of `parked_item`: messages that could not be processed, and when each is tried again."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from mailroom_common.events import DocSource
from mailroom_common.postgres import DatabaseSession, acquire_session
from sync_engine.domain.message_records import FailedMessage, PageUpdate, ParkedItem
from sync_engine.domain.run_planning import RETRY_DELAYS

# At rest or due: an item that waits for its time waits in a run for all too, as that may be repeated every few seconds.
_LIST_DUE = """
select message_id, reason, attempts, first_failed_at from sync_engine.parked_item
where doc_source_id = $1
  and (next_attempt_at <= $2 or ($3 and next_attempt_at is null and last_failed_at < $2)) order by seq
"""
# Beyond the last delay the subscript is out of range, hence null: the item rests.
_PARK = """
insert into sync_engine.parked_item as old (
    doc_source_id, message_id, tenant_id, reason, detail, attempts, first_failed_at, last_failed_at, next_attempt_at)
select $1, f.message_id, $2, f.reason, f.detail, 1, $4, $4, $4::timestamptz + ($5::interval[])[1]
from unnest($3::text[], $6::text[], $7::text[]) as f(message_id, reason, detail) order by f.message_id
on conflict (doc_source_id, message_id) do update set
    reason = excluded.reason, detail = excluded.detail, attempts = old.attempts + 1, last_failed_at = $4,
    next_attempt_at = $4::timestamptz + ($5::interval[])[old.attempts + 1]
returning message_id, reason, next_attempt_at
"""
# An item at rest is shown as a message too; one that was processed before keeps its row.
_INSERT_RESTING_MESSAGES = """
insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, parked_reason)
select $1, r.message_id, $2, 'parked', r.reason from unnest($3::text[], $4::text[]) as r(message_id, reason)
on conflict do nothing
"""


class PgParkedItems:
    """`ParkedItems` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_due(self, doc_source_id: str, now: datetime, *, include_resting: bool) -> Sequence[ParkedItem]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_LIST_DUE, doc_source_id, now, include_resting)
        return [ParkedItem(row["message_id"], row["reason"], row["attempts"], row["first_failed_at"]) for row in rows]


async def resolve_items(conn: DatabaseSession, source: DocSource, update: PageUpdate) -> None:
    """Within the page transaction: what was processed, or is gone, is parked no longer."""
    resolved = [*update.resolved_item_ids, *(message.message_id for message in update.messages)]
    if resolved:
        await conn.execute(
            "delete from sync_engine.parked_item where doc_source_id = $1 and message_id = any($2)",
            source.doc_source_id,
            resolved,
        )
    if update.resolved_item_ids:
        # A message that is not watched where it lies now may be moved to where it is: a row that says "parked" would
        # hide it for ever.
        await conn.execute(
            "delete from sync_engine.message where doc_source_id = $1 and message_id = any($2) and state = 'parked'",
            source.doc_source_id,
            list(update.resolved_item_ids),
        )


async def park_messages(
    conn: DatabaseSession, source: DocSource, failed: Sequence[FailedMessage], now: datetime
) -> None:
    """Within the page transaction: count one more failure of each, or park it for the first time."""
    if not failed:
        return
    ids, reasons, details = zip(*((item.message_id, item.reason, item.detail) for item in failed), strict=True)
    rows = await conn.fetch(
        _PARK, source.doc_source_id, source.tenant_id, list(ids), now, list(RETRY_DELAYS), list(reasons), list(details)
    )
    resting = [row for row in rows if row["next_attempt_at"] is None]
    await conn.execute(
        _INSERT_RESTING_MESSAGES,
        source.doc_source_id,
        source.tenant_id,
        [row["message_id"] for row in resting],
        [row["reason"] for row in resting],
    )
