"""Leases on documents in Postgres: claimed by `skip locked`, held by a token, taken over once they end."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from ingestion.adapters.claim_turns import ClaimTurns
from ingestion.adapters.document_events import append_document_event
from ingestion.adapters.document_evidence import find_pages_not_read, write_evidence
from ingestion.adapters.document_history import keep_current_version, keep_proposal
from ingestion.adapters.document_passwords import find_password, forget_used_passwords
from ingestion.adapters.document_results import append_results
from ingestion.adapters.document_rows import read_attachment, read_outcome
from ingestion.adapters.rereads import request_reread
from ingestion.adapters.supplier_accounts import check_supplier_account
from ingestion.adapters.trade_checks import check_ledger
from ingestion.adapters.trade_ledger import record_trades
from ingestion.domain.archive import is_archived
from ingestion.domain.document import (
    FINAL_STATUSES,
    DocumentId,
    DocumentLease,
    DocumentOutcome,
)
from ingestion.domain.lanes import Lane
from ingestion.domain.reread import RereadEnding, describe_reread
from ingestion.domain.routing import SETTLED_BY_EARLIER
from ingestion.ports.events import Channel
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.tokens.sealing import SealingKeys

# A claimed document is claimable again when its lease has ended, which is what a crash leaves behind. `skip locked`:
# claims at the same moment take different documents, and none waits for a document that is being finished. No lock on
# its key: a document to which another attachment is being added is claimed all the same. A final document that is read
# again keeps its status, and the time of its last change.
_CLAIM = """
    update ingestion.document
    set status = case when status = 'pending' then 'processing' else status end,
        lease_token = $1, next_attempt_at = now() + $2::interval, is_resting = true, attempts = attempts + 1,
        updated_at = case when status in ('pending', 'processing') then now() else updated_at end
    where document_id = (
        select document_id from ingestion.document
        where is_backfill = $3 and next_attempt_at <= now(){of_source}
        order by next_attempt_at
        limit 1
        for no key update skip locked
    )
    returning *
"""
_CLAIM_ANY = _CLAIM.format(of_source="")
_CLAIM_OF_SOURCE = _CLAIM.format(of_source=" and not is_resting and tenant_id = $4 and doc_source_id = $5")
_FIRST_INTAKE = "select * from ingestion.intake where attachment_id = $1"
# The newest: what came after a restore is the likeliest to be there.
_COPIES = """
    select uploaded_blob_key from ingestion.intake
    where document_id = $1 and tenant_id = $2 and uploaded_blob_key <> $3 order by seq desc limit 100
"""
_RENEW = """
    update ingestion.document set next_attempt_at = now() + $3::interval, is_resting = true
    where document_id = $1 and lease_token = $2
    returning document_id
"""
# Locked, and before the outcome is written: a takeover between a plain look and the update would be overwritten. No
# lock on a document is one on its key: who holds the ledger refers to other documents, and must not wait for one that
# is finished, which waits for the ledger.
_LOCK_IF_HELD = "select * from ingestion.document where document_id = $1 and lease_token = $2 for no key update"
_FINISH = """
    update ingestion.document
    set status = $2, skip_reason = $3, review_reason = $4, document_type = $5, extraction = $6, confidence = $7,
        reader = $8, archive_path = $9, is_archive_path_reserved = false, lease_token = null, next_attempt_at = null,
        is_resting = false, retry_cause = null, result_number = result_number + $10,
        last_reread = $12::jsonb || jsonb_build_object('recorded_at', now()),
        updated_at = case when $11 then now() else updated_at end
    where document_id = $1
    returning *
"""
_RELEASE = """
    update ingestion.document
    set status = case when status = 'processing' then 'pending' else status end, lease_token = null,
        next_attempt_at = $3, is_resting = $3 > now(), retry_cause = $4, attempts = attempts - $5,
        updated_at = case when status = 'processing' then now() else updated_at end
    where document_id = $1 and lease_token = $2
    returning document_id
"""
# The path that an earlier attempt reserved stays: its copy may be written already, and another reading, or another day,
# may make another path.
# Null: another document's copy has the path. Asked first, since Postgres writes a key that is refused, which has the
# sender, the trade and the name of the file, into its own log.
_RESERVE = """
    with held as (
        select document_id, archive_path, is_archive_path_reserved from ingestion.document
        where document_id = $1 and lease_token = $2 for no key update
    ), reserved as (
        update ingestion.document d set archive_path = $3, is_archive_path_reserved = true
        from held
        where d.document_id = held.document_id and not held.is_archive_path_reserved
          and not exists (select from ingestion.document o where o.archive_path = $3 and o.document_id <> $1)
        returning d.archive_path
    )
    select case when held.is_archive_path_reserved then held.archive_path else reserved.archive_path end as archive_path
    from held left join reserved on true
"""
# The first of each lane by the index: the least of all would be looked for among all that wait.
_NEXT_DUE = """
    select extract(epoch from min(due.next_attempt_at) - now())::double precision
    from unnest($1::boolean[]) as lane(is_backfill) cross join lateral (
        select d.next_attempt_at from ingestion.document d
        where d.is_backfill = lane.is_backfill and d.next_attempt_at is not null
        order by d.next_attempt_at limit 1
    ) as due
"""

_HELD_UP_AFTER_S = 0.05  # of a finish: those that wait for nobody take some milliseconds


class PgDocumentLeases:
    def __init__(
        self,
        pool: asyncpg.Pool,
        outbox: Outbox,
        *,
        duration: timedelta,
        clock: Callable[[], datetime],
        password_keys: SealingKeys | None = None,
    ) -> None:
        """`password_keys` open the passwords of locked documents; None: nobody can give one."""
        self._password_keys = password_keys
        self._pool = pool
        self._outbox = outbox
        self._duration = duration
        self._clock = clock
        self._finishing: dict[UUID, tuple[str, float]] = {}  # by token: the tenant, and since when
        self._turns = {lane: ClaimTurns(is_backfill=lane is Lane.BACKFILL) for lane in Lane}

    async def claim_document(self, lanes: Sequence[Lane] = tuple(Lane)) -> DocumentLease | None:
        for lane in lanes:
            if (lease := await self._claim_in_lane(lane)) is not None:
                return lease
        return None

    async def _claim_in_lane(self, lane: Lane) -> DocumentLease | None:
        async with open_transaction(self._pool) as conn:
            token = uuid4()
            document = await self._claim_in_turn(conn, lane, token)
            if document is None:
                return None
            first = await conn.fetchrow(_FIRST_INTAKE, document["document_id"])
            is_reread = ResultStatus(document["status"]) in FINAL_STATUSES
            # Only for another reading: whoever gives one has seen that the document is locked.
            password = await find_password(conn, document["document_id"], self._password_keys) if is_reread else None
            return DocumentLease(
                document_id=DocumentId(document["document_id"]),
                token=token,
                attempt=document["attempts"],
                tenant_id=document["tenant_id"],
                doc_source_id=document["doc_source_id"],
                profile=Profile(document["profile"]),
                content_sha256=document["content_sha256"],
                content_type=document["content_type"],
                blob_key=document["blob_key"],
                first_attachment=read_attachment(first),
                former=await _read_former(conn, document) if is_reread else None,
                password=password,
                is_decided=document["review_decision"] is not None,
                lane=lane,
            )

    async def _claim_in_turn(self, conn: DatabaseSession, lane: Lane, token: UUID) -> asyncpg.Record | None:
        source = await self._turns[lane].choose_source(conn, self._list_held_up())
        if source is None:
            return None
        values = (token, self._duration, lane is Lane.BACKFILL)
        document = await conn.fetchrow(_CLAIM_OF_SOURCE, *values, source.tenant_id, source.doc_source_id)
        # Other workers are claiming what this source has: there may be more elsewhere.
        return document if document is not None else await conn.fetchrow(_CLAIM_ANY, *values)

    async def read_seconds_until_due(self, lanes: Iterable[Lane] = tuple(Lane)) -> float | None:
        async with acquire_session(self._pool) as conn:
            seconds: float | None = await conn.fetchval(_NEXT_DUE, [lane is Lane.BACKFILL for lane in lanes])
            return seconds

    async def renew_lease(self, lease: DocumentLease) -> bool:
        async with acquire_session(self._pool) as conn:
            return await conn.fetchval(_RENEW, lease.document_id, lease.token, self._duration) is not None

    def _list_held_up(self) -> frozenset[str]:
        """Tenants of which a document waits to be finished, as for a ledger that is busy: were all of their documents
        claimed in turn, all that this process reads at once would soon wait there, and no other tenant's be read."""
        latest = asyncio.get_running_loop().time() - _HELD_UP_AFTER_S
        return frozenset(tenant_id for tenant_id, since in self._finishing.values() if since <= latest)

    async def finish_document(
        self, lease: DocumentLease, outcome: DocumentOutcome, *, failed: DocumentOutcome | None = None
    ) -> DocumentOutcome | None:
        self._finishing[lease.token] = lease.tenant_id, asyncio.get_running_loop().time()
        try:
            return await self._finish_held(lease, outcome, failed)
        finally:
            del self._finishing[lease.token]

    async def _finish_held(
        self, lease: DocumentLease, outcome: DocumentOutcome, failed: DocumentOutcome | None
    ) -> DocumentOutcome | None:
        async with open_transaction(self._pool) as conn:
            # Locked before the intakes are read: a duplicate that is recorded meanwhile waits for the lock, and then
            # finds the document final and emits its own result. So no attachment is left without one.
            held = await conn.fetchrow(_LOCK_IF_HELD, lease.document_id, lease.token)
            if held is None:
                return None
            # As it is now: a person may have decided since the claim.
            former = read_outcome(held) if ResultStatus(held["status"]) in FINAL_STATUSES else None
            if failed is not None and former is not None:
                # Nothing was read: the document says what it says now, which other documents' trades may have changed.
                outcome = replace(former, archive_path=former.archive_path or outcome.archive_path)
            reading = outcome
            outcome, is_proposed = await _settle_outcome(conn, held, reading, former)
            # Read again to the same outcome: each result is repeated as it was, with the same event id, and only the
            # history says that there was another reading.
            is_changed = outcome != former
            reread = None if is_changed or is_proposed else _describe_idle_reread(held, reading, outcome, failed)
            if former is not None and is_changed:
                await keep_current_version(conn, lease.document_id)
            (document,) = await conn.fetch(
                _FINISH,
                lease.document_id,
                outcome.status.value,
                outcome.skip_reason,
                outcome.review_reason,
                outcome.document_type,
                None if outcome.extraction is None else dict(outcome.extraction),
                outcome.confidence,
                outcome.reader,
                outcome.archive_path,
                1 if is_changed and former is not None else 0,
                is_changed,
                reread,
            )
            if held["review_decision"] is None and (failed is None or former is None):
                # A reading that failed knows no places: those of the outcome that stands are kept.
                await write_evidence(conn, lease.document_id, outcome, is_changed=is_changed)
            await record_trades(conn, document)
            await append_results(conn, self._outbox, document, self._clock())
            if is_changed:
                await append_document_event(conn, document)
            if former is not None:
                await forget_used_passwords(conn, lease.document_id, lease.password)
                if held["review_decision"] is not None and not lease.is_decided and _needs_copy(lease, outcome):
                    await request_reread(conn, lease.document_id)  # decided meanwhile: this reading did not know
            return outcome

    async def release_document(
        self, lease: DocumentLease, *, not_before: datetime, error: str, count_attempt: bool
    ) -> bool:
        async with open_transaction(self._pool) as conn:
            changed = await conn.fetchval(
                _RELEASE, lease.document_id, lease.token, not_before, error[:500], 0 if count_attempt else 1
            )
            # Workers may be waiting until another document is due, which is later than this one.
            await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)
            return changed is not None

    async def list_copies(self, lease: DocumentLease) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_COPIES, lease.document_id, lease.tenant_id, lease.blob_key)
            return [row["uploaded_blob_key"] for row in rows]

    async def reserve_archive_path(self, lease: DocumentLease, paths: Iterable[str]) -> str | None:
        async with acquire_session(self._pool) as conn:
            for path in paths:
                try:
                    held = await conn.fetchrow(_RESERVE, lease.document_id, lease.token, path)
                except asyncpg.UniqueViolationError:
                    continue  # another document was given this path at the same moment
                if held is None:
                    return None
                if held["archive_path"] is not None:
                    return str(held["archive_path"])
        return None


async def _read_former(conn: DatabaseSession, document: Any) -> DocumentOutcome:
    return replace(read_outcome(document), pages_not_read=await find_pages_not_read(conn, document["document_id"]))


async def _settle_outcome(
    conn: DatabaseSession, held: Any, reading: DocumentOutcome, former: DocumentOutcome | None
) -> tuple[DocumentOutcome, bool]:
    """What the document says once this reading has ended, and whether the reading is kept beside a decision."""
    is_same = former is not None and replace(reading, archive_path=former.archive_path) == former
    if former is not None and held["review_decision"] is not None:
        is_proposed = not is_same and await keep_proposal(conn, held, reading)
        return replace(former, archive_path=former.archive_path or reading.archive_path), is_proposed
    if is_same and reading.reason not in SETTLED_BY_EARLIER:
        return reading, False
    outcome = await check_supplier_account(conn, held["tenant_id"], reading, former=former)
    return await check_ledger(conn, held, outcome, former), False


def _describe_idle_reread(
    held: Any, reading: DocumentOutcome, outcome: DocumentOutcome, failed: DocumentOutcome | None
) -> dict[str, Any]:
    """Of another reading that left the document as it was."""
    version = held["result_number"]
    if failed is not None:
        return describe_reread(RereadEnding.FAILED, failed, version=version)
    if held["review_decision"] is not None and replace(reading, archive_path=outcome.archive_path) != outcome:
        return describe_reread(RereadEnding.NOT_TAKEN, reading, version=version)
    return describe_reread(RereadEnding.UNCHANGED, outcome, version=version)


def _needs_copy(lease: DocumentLease, outcome: DocumentOutcome) -> bool:
    return outcome.archive_path is None and is_archived(lease.profile, outcome, lease.content_type)
