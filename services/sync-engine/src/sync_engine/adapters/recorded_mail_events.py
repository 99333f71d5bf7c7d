"""Rows of `mail_event`: what happened to the mails of observed mailboxes, kept so that it can be asked for."""

from collections.abc import Sequence

import asyncpg

from mailroom_common.events import MailEvent
from mailroom_common.postgres import DatabaseSession, acquire_session
from sync_engine.domain.mail_events import EventPosition, MailEventSelection

_INSERT = """
insert into sync_engine.mail_event (event_id, doc_source_id, tenant_id, kind, message_id, event)
select e.value->>'event_id', e.value->>'doc_source_id', e.value->>'tenant_id', e.value->>'kind',
       e.value->>'message_id', e.value
from jsonb_array_elements($1::jsonb) with ordinality as e(value, position) order by e.position
on conflict (event_id) do nothing
returning event_id
"""
# A deleted source shows nothing from its first moment on: to delete its rows may take minutes.
_SELECT = """
select e.recorded_at, e.seq, e.event from sync_engine.mail_event e
where e.tenant_id = $1 and not exists (
    select from sync_engine.sync_state s where s.doc_source_id = e.doc_source_id and s.forgotten_at is not null)
"""


async def record_mail_events(conn: DatabaseSession, events: Sequence[MailEvent]) -> list[MailEvent]:
    """Within the page transaction; returns those that were not recorded before, each of them once."""
    if not events:
        return []
    by_id = {event.event_id: event for event in events}
    recorded = {row["event_id"] for row in await conn.fetch(_INSERT, list(by_id.values()))}
    return [event for event in by_id.values() if event.event_id in recorded]


class PgMailEventQueries:
    """`MailEventQueries` of api/mail_event_routes.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_mail_events(
        self,
        tenant_id: str,
        selection: MailEventSelection,
        *,
        oldest_first: bool,
        beyond: EventPosition | None,
        limit: int,
    ) -> Sequence[dict[str, object]]:
        statement, values = _build_query(selection, oldest_first=oldest_first, beyond=beyond)
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(f"{statement} limit {limit:d}", tenant_id, *values)
        return [{**row["event"], "recorded_at": row["recorded_at"], "seq": row["seq"]} for row in rows]


def _build_query(
    selection: MailEventSelection, *, oldest_first: bool, beyond: EventPosition | None
) -> tuple[str, list[object]]:
    """Only the conditions that are asked for, so that Postgres takes the index that serves them."""
    conditions: list[tuple[str, object]] = [
        ("e.doc_source_id = {}", selection.doc_source_id),
        ("e.kind = {}", selection.kind),
        ("e.message_id = {}", selection.message_id),
        ("e.recorded_at >= {}", selection.since),
        ("e.recorded_at < {}", selection.until),
    ]
    asked = [(condition, value) for condition, value in conditions if value is not None]
    values = [value for _, value in asked]
    # $1 is the tenant.
    lines = [condition.format(f"${number}") for number, (condition, _) in enumerate(asked, start=2)]
    if beyond is not None:
        sign = ">" if oldest_first else "<"
        lines.append(f"(e.recorded_at, e.seq) {sign} (${len(values) + 2}, ${len(values) + 3})")
        values += [beyond.recorded_at, beyond.seq]
    direction = "asc" if oldest_first else "desc"
    order = f"order by e.recorded_at {direction}, e.seq {direction}"
    return f"{_SELECT}{''.join(f' and {line}' for line in lines)} {order}", values
