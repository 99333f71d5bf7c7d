"""New results of documents whose trades got another state in the ledger through another document or a person."""

from collections.abc import Callable
from datetime import datetime

import asyncpg

from ingestion.adapters.document_results import append_results
from ingestion.adapters.intakes import append_document_event
from mailroom_common.logs import get_logger
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_transaction

log = get_logger()

_FIND_NEXT = "select document_id from ingestion.trade_announcement order by entry_id limit 1"
_LOCK = "select from ingestion.document where document_id = $1 for no key update"
# After the lock and before the trades are read: a change that is committed later has an entry that is left here.
_DELETE = "delete from ingestion.trade_announcement where document_id = $1"
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

    async def announce_next(self) -> bool:
        async with open_transaction(self._pool) as conn:
            document_id = await conn.fetchval(_FIND_NEXT)
            if document_id is None:
                return False
            await conn.fetch(_LOCK, document_id)
            if await conn.execute(_DELETE, document_id) == "DELETE 0":
                return True  # another instance has published it meanwhile
            document = await conn.fetchrow(_RAISE_VERSION, document_id)
            if document is None:
                return True
            await append_results(conn, self._outbox, document, self._clock())
            await append_document_event(conn, document)
        # Another document, or a person, changed what this document's trades are; its results say so.
        log.info("trades_announced", document_id=document_id)
        return True
