"""New results of documents whose trades got another state in the ledger through another document or a person."""

from collections.abc import Callable
from datetime import datetime

import asyncpg

from ingestion.adapters.document_events import append_document_event
from ingestion.adapters.document_results import append_results
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import acquire_session, open_transaction

log = get_logger()

_FIND_FIRST = """
    select document_id, tenant_id from ingestion.trade_announcement
    where next_turn_at <= now() order by tenant_id, entry_id limit 1
"""
# Of the tenants behind one. No condition but this: an index is not searched by `$1 is null or …`.
_FIND_NEXT = """
    select document_id, tenant_id from ingestion.trade_announcement
    where tenant_id > $1 and next_turn_at <= now() order by tenant_id, entry_id limit 1
"""
_LOCK = "select from ingestion.document where document_id = $1 for no key update"
# After the lock and before the trades are read: a change that is committed later has an entry that is left here.
_DELETE = "delete from ingestion.trade_announcement where document_id = $1"
_POSTPONE = "update ingestion.trade_announcement set next_turn_at = now() + interval '5 minutes' where document_id = $1"
# A new version: whoever decides about the document has to see the new states of its trades.
_RAISE_VERSION = """
    update ingestion.document set result_number = result_number + 1, updated_at = now()
    where document_id = $1 returning *
"""


class PgTradeAnnouncements:
    """`TradeAnnouncements` of ports/housekeeping.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock
        self._last_tenant: str | None = None

    async def announce_next(self) -> bool:
        document_id = await self._find_next_in_turn()
        if document_id is None:
            return False
        try:
            await self._announce(document_id)
        except Retryable:
            await self._postpone(document_id)  # one that takes too long each time leaves the others their turn
            raise
        except Exception:  # the edge of one document: others are announced, and read
            # A bug of ours; the document's results say what they did before, and it is tried again in five minutes.
            log.exception("trade_announcement_failed", document_id=document_id)
            await self._postpone(document_id)
        return True

    async def _postpone(self, document_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_POSTPONE, document_id)

    async def _find_next_in_turn(self) -> str | None:
        """Of the next tenant that has one: a hundred thousand trades of one hold up no other's."""
        async with acquire_session(self._pool) as conn:
            row = None if self._last_tenant is None else await conn.fetchrow(_FIND_NEXT, self._last_tenant)
            row = row or await conn.fetchrow(_FIND_FIRST)
        if row is None:
            return None
        self._last_tenant = row["tenant_id"]
        return str(row["document_id"])

    async def _announce(self, document_id: str) -> None:
        async with open_transaction(self._pool) as conn:
            await conn.fetch(_LOCK, document_id)
            if await conn.execute(_DELETE, document_id) == "DELETE 0":
                return  # another instance has published it meanwhile
            document = await conn.fetchrow(_RAISE_VERSION, document_id)
            if document is None:
                return
            await append_results(conn, self._outbox, document, self._clock())
            await append_document_event(conn, document)
        # Another document, or a person, changed what this document's trades are; its results say so.
        log.info("trades_announced", document_id=document_id)
