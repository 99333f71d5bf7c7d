"""The attachments of one document, some at a time: a sender may have sent its content a hundred thousand times."""

from collections.abc import AsyncIterator
from typing import Any

from mailroom_common.postgres import DatabaseSession

_PAGE = 200
_INTAKES = "select * from ingestion.intake where document_id = $1 and seq > $2 order by seq limit $3"


async def iterate_intakes(conn: DatabaseSession, document_id: str) -> AsyncIterator[Any]:
    """In the order in which they came. Under the lock of the document's row, so that no further one comes meanwhile."""
    after = 0
    while rows := await conn.fetch(_INTAKES, document_id, after, _PAGE):
        for row in rows:
            yield row
        after = rows[-1]["seq"]
