"""Whose document is claimed next: tenants take turns, and so do the doc sources of a tenant."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass

from mailroom_common.postgres import DatabaseSession

_MAX_REMEMBERED_TENANTS = 1000

_WAKE_BATCH = 100

# Of those that rest, each lies in no claim's way until its time has come: its own, or that of the end of a lease whose
# worker died. A batch, since after an outage the time of all of them may have come at once.
_WAKE_DUE = """
    update ingestion.document set is_resting = false
    where document_id in (
        select document_id from ingestion.document where is_resting and next_attempt_at <= now()
        order by next_attempt_at limit $1 for no key update skip locked)
"""
# Steps from one doc source with claimable documents to the next by the index, and no further than to the first that has
# a due one: Postgres evaluates a recursive query only as far as it is read. What does not rest is due, but for what was
# recorded in this moment.
_FIND_DUE_SOURCE = """
    with recursive source as (
        (select tenant_id, doc_source_id from ingestion.document
         where is_backfill = $1 and next_attempt_at is not null and not is_resting and {first}
         order by tenant_id, doc_source_id limit 1)
        union all
        select following.* from source cross join lateral (
            select d.tenant_id, d.doc_source_id from ingestion.document d
            where d.is_backfill = $1 and d.next_attempt_at is not null and not d.is_resting and {following}
              and (d.tenant_id, d.doc_source_id) > (source.tenant_id, source.doc_source_id)
            order by d.tenant_id, d.doc_source_id limit 1
        ) following
    )
    select source.tenant_id, source.doc_source_id from source
    where exists (
        select from ingestion.document d
        where d.is_backfill = $1 and d.tenant_id = source.tenant_id and d.doc_source_id = source.doc_source_id
          and d.next_attempt_at <= now() and not d.is_resting)
    limit 1
"""
_FIND_OF_NEXT_TENANT = _FIND_DUE_SOURCE.format(first="tenant_id > $2", following="true")
_FIND_NEXT_OF_TENANT = _FIND_DUE_SOURCE.format(
    first="tenant_id = $2 and doc_source_id > $3", following="d.tenant_id = $2"
)


@dataclass(frozen=True, slots=True)
class DueSource:
    tenant_id: str
    doc_source_id: str


class ClaimTurns:
    """The turns of one lane, as this process has given them out: each process goes round by itself."""

    def __init__(self, *, is_backfill: bool) -> None:
        self._is_backfill = is_backfill
        self._last_tenant = ""
        self._last_sources: OrderedDict[str, str] = OrderedDict()  # by tenant

    async def choose_source(self, conn: DatabaseSession, held_up: Collection[str] = frozenset()) -> DueSource | None:
        """A doc source with a due document, of the tenant whose turn it is; None where nothing is due. Tenants that are
        `held_up` let those go first that are not."""
        await conn.execute(_WAKE_DUE, _WAKE_BATCH)
        found = await self._find_of_next_tenant(conn, held_up)
        if found is None:
            return None
        last_source = self._last_sources.get(found.tenant_id)
        if last_source is not None:
            found = await self._find_next_of_tenant(conn, found.tenant_id, last_source) or found
        self._remember(found)
        return found

    async def _find_of_next_tenant(self, conn: DatabaseSession, held_up: Collection[str]) -> DueSource | None:
        first, after = None, self._last_tenant
        for _ in range(len(held_up) + 1):
            found = await self._find_behind(conn, after)
            if found is None or found.tenant_id not in held_up:
                return found
            first, after = first or found, found.tenant_id
        return first

    async def _find_behind(self, conn: DatabaseSession, tenant_id: str) -> DueSource | None:
        """Of the tenant behind one; behind the last one that is the first."""
        for after in dict.fromkeys((tenant_id, "")):
            row = await conn.fetchrow(_FIND_OF_NEXT_TENANT, self._is_backfill, after)
            if row is not None:
                return DueSource(row["tenant_id"], row["doc_source_id"])
        return None

    async def _find_next_of_tenant(self, conn: DatabaseSession, tenant_id: str, after: str) -> DueSource | None:
        row = await conn.fetchrow(_FIND_NEXT_OF_TENANT, self._is_backfill, tenant_id, after)
        return None if row is None else DueSource(row["tenant_id"], row["doc_source_id"])

    def _remember(self, source: DueSource) -> None:
        self._last_tenant = source.tenant_id
        self._last_sources[source.tenant_id] = source.doc_source_id
        self._last_sources.move_to_end(source.tenant_id)
        if len(self._last_sources) > _MAX_REMEMBERED_TENANTS:
            self._last_sources.popitem(last=False)
