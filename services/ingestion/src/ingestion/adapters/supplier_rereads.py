"""Has invoices read again that wait for their supplier or its account to be known, once a person has made it known.

They are found by the account, among the newest that wait: what is beyond the limits, and what a crash leaves, waits for
a person or for a replay (`reason=supplier_uncertain`), as all of them would.
"""

from typing import Any

import asyncpg

from ingestion.adapters.rereads import request_rereads
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.routing import SETTLED_BY_EARLIER
from ingestion.domain.supplier_accounts import find_supplier_account
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import open_transaction

_MAX_LOOKED_AT = 2000  # of a reason
_MAX_REQUESTED = 200  # of a reason; as many as are read in some seconds
_MAX_STORED_BYTES = 32 * 1024  # of what was read: two thousand of the longest would be unpacked for minutes
# By the index of reasons; what it finds is compared in memory.
_LIST_WAITING = """
    with waiting as (
        select document_id, review_decision, next_attempt_at,
               case when pg_column_size(extraction) <= $6 then extraction ->> 'iban' end as iban
        from ingestion.document
        where tenant_id = $1 and coalesce(skip_reason, review_reason) = $2
        order by seq desc limit $3
    )
    select document_id from waiting
    where iban = $4 and review_decision is null and next_attempt_at is null
    order by document_id limit $5
"""


async def request_of_supplier(pool: asyncpg.Pool, decided: Any, outcome: DocumentOutcome) -> int:
    """How many are read again, after new mail. `decided` is the row that the decision made, with the
    outcome that it has."""
    account = find_supplier_account(outcome.extraction)
    is_known_now = decided["profile"] == Profile.INVOICE and outcome.status is ResultStatus.COMPLETED
    if account is None or not is_known_now:
        return 0
    replay_id = f"supplier-of-{decided['document_id']}-{decided['result_number']}"
    requested = 0
    for reason in sorted(SETTLED_BY_EARLIER):
        async with open_transaction(pool) as conn:
            found = await conn.fetch(
                _LIST_WAITING,
                decided["tenant_id"],
                reason.value,
                _MAX_LOOKED_AT,
                account.iban,
                _MAX_REQUESTED,
                _MAX_STORED_BYTES,
            )
            if found:
                requested += await request_rereads(conn, [row["document_id"] for row in found], replay_id)
    return requested
