"""Asks for another reading of documents that are final, whose results stand until it ends."""

from dataclasses import dataclass
from typing import Self

import asyncpg

from ingestion.ports.events import Channel
from ingestion.ports.intake import DuplicateBlob, RereadFilter, RereadPage
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

# Only an idle final document: one that is still to be read is read by the newest readers anyway, and one that is being
# read again is asked for already. `replay_id`: a record that Kafka delivers again, a replay that goes on after a crash,
# and a second attachment with the same content ask once. Locked in one order: of two replays, or decisions, that ask
# for the same documents each would wait for the other.
_REQUEST = """
    update ingestion.document
    set replay_id = $2, next_attempt_at = now(), attempts = 0, is_backfill = true, retry_cause = null
    from (
        select document_id from ingestion.document
        where document_id = any($1) and next_attempt_at is null and replay_id is distinct from $2
        order by document_id for no key update
    ) as idle
    where document.document_id = idle.document_id
"""
# A good copy has come of a blob that is damaged or gone. Also where the document is being read: whoever has it may have
# looked for copies already, and in its last attempt. So it loses its lease, and what it found out is dropped. What was
# read from good bytes before stands: of content that comes with each mail of a sender, another reading for each copy
# would repeat the results of all those before it.
_REQUEST_FROM_COPY = """
    update ingestion.document
    set replay_id = $2, status = case when status = 'processing' then 'pending' else status end, lease_token = null,
        is_backfill = is_backfill or next_attempt_at is null, next_attempt_at = now(), is_resting = false, attempts = 0,
        retry_cause = null
    where document_id = $1 and (next_attempt_at is not null or status = 'failed') and replay_id is distinct from $2
"""
# Before the documents of a replay: a person waits for it. One that is read at this moment is left to that reading.
_REQUEST_SOON = """
    update ingestion.document
    set next_attempt_at = now(), attempts = 0, is_backfill = false, is_resting = false, retry_cause = null
    where document_id = $1 and lease_token is null
"""
_FIND_INTAKE = "select document_id, tenant_id, doc_source_id from ingestion.intake where attachment_id = $1"
_HAS_CONTENT = "select from ingestion.document where doc_source_id = $1 and content_sha256 = $2"
_MATCHING = """
    from ingestion.document
    where tenant_id = $1
      and status in ('completed', 'needs_review', 'skipped', 'failed')
      and {of_source}
      and ($3::text is null or status = $3)
      and ($4::text is null or skip_reason = $4 or review_reason = $4)
      and ($5::text is null or reader = $5)
      and ($6::text is null or reader is distinct from $6)
      and ($7::timestamptz is null or created_at >= $7)
      and ($8::timestamptz is null or created_at < $8)
      and ($9::text is null or replay_id is distinct from $9)
"""
# So many documents are looked at by one statement: what few of ten million match would run into its time limit, each
# time that it is asked for again.
_WINDOW = 50_000
_FIND_WINDOW = """
    select count(*) as count, max(seq) as last from (
        select seq from ingestion.document where tenant_id = $1 and {of_source} and seq > $3 order by seq limit $4
    ) as in_order
"""
_COUNT = f"select count(*) {_MATCHING} and seq > $10 and seq <= $11"  # a constant
_PAGE = f"select document_id, seq {_MATCHING} and seq > $10 and seq <= $11 order by seq limit $12"  # a constant


@dataclass(frozen=True, slots=True)
class _Statements:
    """Of all doc sources or of one. Statements of their own, for one mailbox of 100,000 has some documents of millions,
    and an index is not searched by `$2 is null or …`."""

    find_window: str
    count: str
    page: str

    @classmethod
    def build(cls, of_source: str) -> Self:
        return cls(*(text.format(of_source=of_source) for text in (_FIND_WINDOW, _COUNT, _PAGE)))


_OF_ALL = _Statements.build("$2::text is null")
_OF_ONE = _Statements.build("doc_source_id = $2")


class PgRereads:
    """`Rereads` of ports/intake.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def request_by_attachment(self, stored: AttachmentStored, replay_id: str) -> bool:
        async with open_transaction(self._pool) as conn:
            document_id = await _find_document(conn, stored)
            if document_id is None:
                return False
            await request_rereads(conn, [document_id], replay_id)
            return True

    async def request_from_copy(self, copy: DuplicateBlob) -> None:
        async with open_transaction(self._pool) as conn:
            document_id = await _find_document(conn, copy)
            await conn.execute(_REQUEST_FROM_COPY, document_id, f"copy-{copy.attachment_id}")
            await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)

    async def has_content(self, doc_source_id: str, content_sha256: str) -> bool:
        async with acquire_session(self._pool) as conn:
            return await conn.fetchrow(_HAS_CONTENT, doc_source_id, content_sha256) is not None

    async def request_document(self, tenant_id: str, document_id: str, replay_id: str) -> bool:
        async with open_transaction(self._pool) as conn:
            known = await conn.fetchval(
                "select document_id from ingestion.document where document_id = $1 and tenant_id = $2",
                document_id,
                tenant_id,
            )
            if known is not None:
                await request_rereads(conn, [known], replay_id)
            return known is not None

    async def count_documents(self, tenant_id: str, wanted: RereadFilter, replay_id: str | None) -> int:
        values, found = _filter_values(tenant_id, wanted, replay_id), 0
        statements = _choose_statements(wanted)
        after: int | None = -1
        while after is not None:
            async with acquire_session(self._pool) as conn:
                last, following = await _find_window(conn, tenant_id, wanted, after)
                found += await conn.fetchval(statements.count, *values, after, last)
                after = following
        return found

    async def request_page(
        self, tenant_id: str, wanted: RereadFilter, replay_id: str, *, after: int, limit: int
    ) -> RereadPage:
        async with open_transaction(self._pool) as conn:
            last, following = await _find_window(conn, tenant_id, wanted, after)
            values = _filter_values(tenant_id, wanted, replay_id)
            rows = await conn.fetch(_choose_statements(wanted).page, *values, after, last, limit)
            requested = await request_rereads(conn, [row["document_id"] for row in rows], replay_id)
        return RereadPage(len(rows), requested, rows[-1]["seq"] if len(rows) == limit else following)


def _choose_statements(wanted: RereadFilter) -> _Statements:
    return _OF_ALL if wanted.doc_source_id is None else _OF_ONE


async def _find_window(
    conn: DatabaseSession, tenant_id: str, wanted: RereadFilter, after: int
) -> tuple[int, int | None]:
    """The last of the documents that are looked at now, and behind which others follow; None: there are no others."""
    statement = _choose_statements(wanted).find_window
    (window,) = await conn.fetch(statement, tenant_id, wanted.doc_source_id, after, _WINDOW)
    last = after if window["last"] is None else window["last"]
    return last, last if window["count"] == _WINDOW else None


async def _find_document(conn: DatabaseSession, stored: AttachmentStored | DuplicateBlob) -> str | None:
    intake = await conn.fetchrow(_FIND_INTAKE, stored.attachment_id)
    if intake is None:
        return None
    if (intake["tenant_id"], intake["doc_source_id"]) != (stored.tenant_id, stored.doc_source_id):
        raise Rejected(f"attachment {stored.attachment_id} is of another doc source than its record says")
    document_id: str = intake["document_id"]
    return document_id


async def request_reread(conn: DatabaseSession, document_id: str) -> None:
    """Have a final document read as soon as a worker is free, in the transaction that gives a reason for it."""
    await conn.execute(_REQUEST_SOON, document_id)
    await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)


async def request_rereads(conn: DatabaseSession, document_ids: list[str], replay_id: str) -> int:
    """How many of them are read again for this request."""
    status = await conn.execute(_REQUEST, document_ids, replay_id)
    await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)
    return int(status.rpartition(" ")[2])


def _filter_values(tenant_id: str, wanted: RereadFilter, replay_id: str | None) -> tuple[object, ...]:
    return (
        tenant_id,
        wanted.doc_source_id,
        wanted.status,
        wanted.reason,
        wanted.reader,
        wanted.except_reader,
        wanted.created_since,
        wanted.created_before,
        replay_id,
    )
