"""Where words stand in the order of documents, for those that an earlier release wrote."""

import asyncpg

from mailroom_common.postgres import open_transaction

# What a document is changed by meanwhile writes its place itself, and is not waited for.
_WRITE_PLACES = """
    with unplaced as (
        select document_id from ingestion.document_words where seq is null limit $1 for no key update skip locked)
    update ingestion.document_words placed set seq = document.seq
    from unplaced join ingestion.document using (document_id) where placed.document_id = unplaced.document_id
    returning placed.document_id
"""


class PgWordPlaceBackfill:
    """`Backfill` of ports/housekeeping.py. Until there are none of these, words are looked for document by document."""

    name = "word_places"

    def __init__(self, pool: asyncpg.Pool, *, batch: int = 500) -> None:
        self._pool = pool
        self._batch = batch

    async def write_missing(self) -> int:
        async with open_transaction(self._pool) as conn:
            return len(await conn.fetch(_WRITE_PLACES, self._batch))
