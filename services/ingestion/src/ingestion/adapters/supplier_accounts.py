"""The known accounts of suppliers in Postgres: those that completed documents of the tenant name.

They are no table of their own: an account is known as long as a document with it stands, and a reading that is
repeated, or a worker that dies, leaves nothing behind.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import asyncpg

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.supplier_accounts import (
    MAX_KNOWN_IBANS,
    KnownAccounts,
    SupplierAccount,
    find_supplier_account,
    require_known_account,
)
from mailroom_common.events import ResultStatus
from mailroom_common.postgres import DatabaseSession, open_transaction

_LOCK_SPACE = 1_229_073_742  # the first of two numbers: no other lock of ours has two
_LOCK = "select pg_advisory_xact_lock($1, $2)"

# From one account to the next by the index, however many documents name it.
_KNOWN = """
    with recursive account(iban) as (
        (select supplier_iban from ingestion.document
         where tenant_id = $1 and {key} = $2{confirmed} order by supplier_iban limit 1)
        union all
        select (select supplier_iban from ingestion.document
                where tenant_id = $1 and {key} = $2{confirmed} and supplier_iban > account.iban
                order by supplier_iban limit 1)
        from account where account.iban is not null
    )
    select exists (select from ingestion.document
                   where tenant_id = $1 and {key} = $2{confirmed} and supplier_iban = $3) as has_account,
           array(select iban from account where iban is not null limit $4) as ibans
"""
_KEYS = ("supplier_vat_key", "supplier_name_key", "supplier_look_key")
_KNOWN_BY = {key: _KNOWN.format(key=key, confirmed="") for key in _KEYS}
_CONFIRMED_BY = {key: _KNOWN.format(key=key, confirmed=" and review_decision = 'confirmed'") for key in _KEYS}

_KEY_COLUMNS = (*_KEYS, "supplier_iban")

_LOCK_UNKEYED = """
    select document_id, extraction from ingestion.document
    where status = 'completed' and supplier_iban is null and extraction ->> 'iban' is not null
    order by seq limit $1 for no key update skip locked
"""
_LOCK_WITHOUT_LOOK = """
    select document_id, extraction from ingestion.document
    where supplier_name_key is not null and supplier_look_key is null
    order by seq limit $1 for no key update skip locked
"""
_WRITE_KEYS = """
    update ingestion.document
    set supplier_vat_key = $2, supplier_name_key = $3, supplier_look_key = $4, supplier_iban = $5
    where document_id = $1
"""


async def check_supplier_account(
    conn: DatabaseSession, tenant_id: str, outcome: DocumentOutcome, *, former: DocumentOutcome | None = None
) -> DocumentOutcome:
    """`iban_changed` where the account is new for a known supplier. In the transaction that makes the outcome the
    document's, under the lock of its row, and before it is written. `former` is what the document says until then."""
    account = await lock_supplier(conn, tenant_id, outcome)
    if account is None:
        return outcome
    is_completed_with_it = (
        former is not None
        and former.status is ResultStatus.COMPLETED
        and find_supplier_account(former.extraction) == account
    )
    known = [
        await _find_known(conn, tenant_id, column, key, account.iban, include_unconfirmed=is_completed_with_it)
        for column, key in zip(_KEYS, (account.vat_key, account.name_key, account.look_key), strict=True)
        if key is not None
    ]
    return require_known_account(outcome, known)


async def lock_supplier(conn: DatabaseSession, tenant_id: str, outcome: DocumentOutcome) -> SupplierAccount | None:
    """Of two documents of one supplier that end at the same moment the second sees the account of the first: also of a
    supplier that nothing is known of yet, so there is no row to lock. Until the end of the transaction."""
    account = find_supplier_account(outcome.extraction)
    if account is not None and outcome.status is not ResultStatus.SKIPPED:
        # In one order, whichever keys two documents share.
        for number in sorted(set(_list_lock_numbers(tenant_id, account))):
            await conn.execute(_LOCK, _LOCK_SPACE, number)
        return account
    return None


def _list_lock_numbers(tenant_id: str, account: SupplierAccount) -> Iterator[int]:
    for kind, key in (("vat", account.vat_key), ("name", account.name_key), ("look", account.look_key)):
        if key is not None:
            digest = sha256("\x1f".join((tenant_id, kind, key)).encode()).digest()
            yield int.from_bytes(digest[:4], "big", signed=True)


async def _find_known(
    conn: DatabaseSession, tenant_id: str, column: str, key: str, iban: str, *, include_unconfirmed: bool
) -> KnownAccounts:
    """Those that people have confirmed, where there are any: what came first, and was completed without a person, may
    have been sent by anybody in the supplier's name."""
    for statements in (_KNOWN_BY,) if include_unconfirmed else (_CONFIRMED_BY, _KNOWN_BY):
        (row,) = await conn.fetch(statements[column], tenant_id, key, iban, MAX_KNOWN_IBANS)
        if row["ibans"]:
            return KnownAccounts(row["has_account"], tuple(row["ibans"]))
    return KnownAccounts(has_account=False, ibans=())


def build_supplier_keys(document: Any) -> tuple[str | None, str | None, str | None, str | None]:
    """What a row says of a supplier's account: VAT key, name key, look key, IBAN; nothing unless it is completed."""
    if document["status"] != ResultStatus.COMPLETED or (document["extraction"] or {}).get("iban") is None:
        return None, None, None, None
    account = find_supplier_account(document["extraction"])
    if account is None:
        return None, None, None, ""
    return account.vat_key, account.name_key, account.look_key, account.iban


def has_current_supplier_keys(document: Any) -> bool:
    return build_supplier_keys(document) == tuple(document[name] for name in _KEY_COLUMNS)


async def write_supplier_keys(conn: DatabaseSession, document: Any) -> None:
    """`document` is the row as it is; in the transaction that changed it."""
    if not has_current_supplier_keys(document):
        await conn.execute(_WRITE_KEYS, document["document_id"], *build_supplier_keys(document))


class PgSupplierBackfill:
    """What suppliers are known by, of documents that were completed without. `Backfill` of ports/housekeeping.py."""

    name = "supplier_keys"

    def __init__(self, pool: asyncpg.Pool, *, batch: int = 200) -> None:
        self._pool = pool
        self._batch = batch

    async def write_missing(self) -> int:
        async with open_transaction(self._pool) as conn:
            rows = await conn.fetch(_LOCK_UNKEYED, self._batch)
            rows += await conn.fetch(_LOCK_WITHOUT_LOOK, self._batch - len(rows))
            for row in rows:
                keys = build_supplier_keys({"status": ResultStatus.COMPLETED, "extraction": row["extraction"]})
                await conn.execute(_WRITE_KEYS, row["document_id"], *keys)
            return len(rows)
