"""Passwords of documents in Postgres, from the request until the reading that uses them: sealed, never in clear."""

from typing import Any

import asyncpg

from ingestion.adapters.rereads import request_reread
from ingestion.domain.document_password import (
    LIMIT_PERIOD,
    MAX_PASSWORD_AGE,
    MAX_PER_DOCUMENT,
    MAX_PER_TENANT,
    GivenPassword,
    NoPasswordNeeded,
    TooManyPasswords,
    is_locked,
)
from ingestion.domain.reasons import parse_reason
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.tokens.sealing import CannotUnseal, SealingKeys

log = get_logger()

# The lock that whoever finishes a reading takes too.
_LOCK = """
    select status, review_reason, lease_token,
           exists (select from ingestion.document_password given where given.document_id = document.document_id)
               as was_locked
    from ingestion.document where document_id = $1 and tenant_id = $2 for no key update
"""
_COUNT = """
    select count(*) as of_tenant, count(*) filter (where document_id = $2) as of_document
    from ingestion.document_password where tenant_id = $1 and given_at > now() - $3::interval
"""
_INSERT = """
    insert into ingestion.document_password (document_id, tenant_id, sealed, api_key_id) values ($1, $2, $3, $4)
"""
_FIND = """
    select password_id, sealed from ingestion.document_password
    where document_id = $1 and sealed is not null order by password_id
"""
_FORGET_USED = """
    update ingestion.document_password set sealed = null
    where document_id = $1 and password_id = $2 and sealed is not null
"""
_NEWEST_UNUSED = (
    "select max(password_id) from ingestion.document_password where document_id = $1 and sealed is not null"
)
_FORGET_OLD = """
    update ingestion.document_password set sealed = null
    where password_id in (select password_id from ingestion.document_password
                          where sealed is not null and given_at < now() - $1::interval limit 500)
"""


class PgDocumentPasswords:
    """`DocumentPasswords` of ports/reviews.py."""

    def __init__(self, pool: asyncpg.Pool, keys: SealingKeys) -> None:
        self._pool = pool
        self._keys = keys

    async def give_password(self, tenant_id: str, document_id: str, password: str, *, api_key_id: str) -> bool:
        sealed = self._keys.seal_secret(password.encode(), bound_to=_build_purpose(document_id))
        async with open_transaction(self._pool) as conn:
            document = await conn.fetchrow(_LOCK, document_id, tenant_id)
            if document is None:
                return False
            _require_locked(document)
            await _require_within_limits(conn, tenant_id, document_id)
            await conn.execute(_INSERT, document_id, tenant_id, sealed, api_key_id)
            await request_reread(conn, document_id)
        log.info("document_password_sealed", document_id=document_id, api_key_id=api_key_id)
        return True


class PasswordSweeper:
    """Forgets passwords that no reading used."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def forget_old_passwords(self) -> int:
        """How many were forgotten: more may be left."""
        async with acquire_session(self._pool) as conn:
            status = await conn.execute(_FORGET_OLD, MAX_PASSWORD_AGE)
            return int(status.rpartition(" ")[2])


async def find_password(conn: DatabaseSession, document_id: str, keys: SealingKeys | None) -> GivenPassword | None:
    """The first that no reading has used: of several that were given at once each is tried. Where none can be unsealed
    it is the newest, without a text, and the document is read without it."""
    unopened = None
    for row in await conn.fetch(_FIND, document_id):
        found = _open_password(row, document_id, keys)
        if found.text is not None:
            return found
        unopened = found
    return unopened


async def forget_used_passwords(conn: DatabaseSession, document_id: str, used: GivenPassword | None) -> None:
    """At the end of a reading, under the lock of the document's row: forget the password that it used. For one that
    was given after the claim, request another reading; not for one that could not be opened: that would never end."""
    if used is not None and used.text is not None:
        await conn.execute(_FORGET_USED, document_id, used.password_id)
    newest_unused = await conn.fetchval(_NEWEST_UNUSED, document_id)
    if newest_unused is not None and (used is None or newest_unused > used.password_id):
        await request_reread(conn, document_id)


def _open_password(row: Any, document_id: str, keys: SealingKeys | None) -> GivenPassword:
    if keys is None:
        # The worker was started without MAILROOM_TOKEN_KEYS: it cannot open what the API sealed.
        log.warning("document_password_not_opened", document_id=document_id, reason="no keys")
        return GivenPassword(row["password_id"], None)
    try:
        text = keys.unseal_secret(row["sealed"], bound_to=_build_purpose(document_id)).decode()
    except CannotUnseal as error:
        # Its key was taken away, or the row was changed: somebody has to give the password again.
        log.warning("document_password_not_opened", document_id=document_id, reason=str(error))
        return GivenPassword(row["password_id"], None)
    return GivenPassword(row["password_id"], text)


def _require_locked(document: Any) -> None:
    if document["status"] in ("pending", "processing"):
        raise NoPasswordNeeded("It is not read yet.")
    reason = document["review_reason"]
    # What a password has opened once needs it for each further reading.
    if not document["was_locked"] and not is_locked(None if reason is None else parse_reason(reason)):
        raise NoPasswordNeeded("It is not locked.")


async def _require_within_limits(conn: DatabaseSession, tenant_id: str, document_id: str) -> None:
    (counts,) = await conn.fetch(_COUNT, tenant_id, document_id, LIMIT_PERIOD)
    if counts["of_document"] >= MAX_PER_DOCUMENT or counts["of_tenant"] >= MAX_PER_TENANT:
        raise TooManyPasswords


def _build_purpose(document_id: str) -> str:
    return f"document password\x1f{document_id}"
