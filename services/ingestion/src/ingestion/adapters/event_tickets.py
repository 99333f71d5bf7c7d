"""Tickets for event streams in Postgres: single use, short-lived, stored as their hash only."""

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

import asyncpg

from mailroom_common.postgres import acquire_session, open_transaction

# Deleted and returned in one statement: of two streams that come with the same ticket, one gets it.
_REDEEM = (
    "delete from ingestion.event_ticket where ticket_sha256 = $1 returning tenant_id, expires_at > now() as is_valid"
)


class PgEventTickets:
    def __init__(self, pool: asyncpg.Pool, *, lifetime: timedelta) -> None:
        self._pool = pool
        self._lifetime = lifetime

    async def issue_ticket(self, tenant_id: str) -> tuple[str, datetime]:
        # 256 random bits: its plain hash tells nobody anything, and needs no salt.
        ticket = secrets.token_urlsafe(32)
        async with open_transaction(self._pool) as conn:
            # Here, and not by a loop of its own: expired tickets are only those that nobody redeemed.
            await conn.execute("delete from ingestion.event_ticket where expires_at < now()")
            expires_at: datetime = await conn.fetchval(
                "insert into ingestion.event_ticket (ticket_sha256, tenant_id, expires_at) "
                "values ($1, $2, now() + $3::interval) returning expires_at",
                sha256(ticket.encode()).digest(),
                tenant_id,
                self._lifetime,
            )
        return ticket, expires_at

    async def redeem_ticket(self, ticket: str) -> str | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(_REDEEM, sha256(ticket.encode()).digest())
        return row["tenant_id"] if row is not None and row["is_valid"] else None
