"""The positions of words in the order of documents, for those that an earlier release wrote without."""

import asyncpg

from mailroom_common.postgres import open_transaction

# Whoever changes such a document meanwhile writes its position too, and is not waited for.
_WRITE_POSITIONS = """
    with unplaced as (
        select document_id from ingestion.document_words where seq is null limit $1 for no key update skip locked)
    update ingestion.document_words placed set seq = document.seq
    from unplaced join ingestion.document using (document_id) where placed.document_id = unplaced.document_id
    returning placed.document_id
"""


class PgWordPositionBackfill:
    """`Backfill` of ports/housekeeping.py. Until none is left, words are looked for document by document."""

    name = "word_positions"

    def __init__(self, pool: asyncpg.Pool, *, batch: int = 500) -> None:
        self._pool = pool
        self._batch = batch

    async def write_missing(self) -> int:
        async with open_transaction(self._pool) as conn:
            return len(await conn.fetch(_WRITE_POSITIONS, self._batch))
