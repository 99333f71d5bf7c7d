"""What became of taken parts, and with that of their messages."""

import asyncpg

from mailroom_common.events import IngestionResult
from mailroom_common.postgres import open_transaction

_LOCK_MESSAGE = """
select m.doc_source_id, m.message_id from sync_engine.message m
join sync_engine.message_part p using (doc_source_id, message_id)
where p.attachment_id = $1 for update of m
"""
_RECORD = """
update sync_engine.message_part
set document_id = $2, result_status = $3, result_reason = $4, result_at = $5
where attachment_id = $1 and (result_at is null or result_at <= $5)
"""
_CLOSE = """
update sync_engine.message m set state = 'closed', closed_at = now()
where m.doc_source_id = $1 and m.message_id = $2 and m.state = 'open' and not exists (
    select from sync_engine.message_part p
    where p.doc_source_id = $1 and p.message_id = $2 and p.taken and p.result_at is null)
"""


class PgResults:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def record_result(self, result: IngestionResult) -> None:
        async with open_transaction(self._pool) as conn:
            # The message first: of two parts that end at the same time, each would else see the other one open.
            message = await conn.fetchrow(_LOCK_MESSAGE, result.attachment_id)
            if message is None:
                return  # uploaded by hand, or of a source that is forgotten
            await conn.execute(
                _RECORD, result.attachment_id, result.document_id, result.status, result.reason, result.occurred_at
            )
            await conn.execute(_CLOSE, message["doc_source_id"], message["message_id"])
