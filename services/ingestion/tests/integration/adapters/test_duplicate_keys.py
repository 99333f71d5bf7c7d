"""Keys that very many documents have, as an invoice that came to each mailbox of a tenant."""

import pytest
from ingestion_site import Ingestion

from ingestion.adapters.duplicate_keys import _COUNT

pytestmark = pytest.mark.stack

_MANY_DOCUMENTS = """
    insert into ingestion.document (document_id, tenant_id, doc_source_id, profile, content_sha256, content_type,
                                    size_bytes, blob_key, source_metadata, status, duplicate_key, next_attempt_at)
    select n::text, 'acme', n::text, 'invoice', '', 'application/pdf', 1, n::text, '{}', 'completed',
           case when n > 1000 then 'shared' else n::text end, null
    from generate_series(1, 2000) n
"""


async def test_whether_a_key_is_shared_is_never_looked_for_through_the_whole_table(site: Ingestion) -> None:
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute(_MANY_DOCUMENTS)
        await conn.execute("analyze ingestion.document")
        rows = await conn.fetch(f"explain {_COUNT}", "acme", "shared")
        assert await conn.fetchval(_COUNT, "acme", "shared") == 2
    plan = "\n".join(row[0] for row in rows)
    assert "document_by_key_in_order" in plan, plan
