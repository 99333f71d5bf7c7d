"""Consent links and browser flows in Postgres; each is redeemed by one conditional update, so that of two at once one
wins."""

from datetime import datetime

import asyncpg

from mailroom_common.postgres import acquire_session
from subscription_manager.ports import ConsentFlow, ConsentTicket


class PgConsentFlowStore:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add_ticket(self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            # Old ones stay for two days, so that a link that expired is told from one that never was ours.
            await conn.execute(
                # More than one goes for each that is added, and no request waits for what has piled up.
                "delete from subscription_manager.oauth_request where id in ("
                "select id from subscription_manager.oauth_request "
                "where expires_at < $1::timestamptz - interval '2 days' limit 100 for update skip locked)",
                expires_at,
            )
            await conn.execute(
                "insert into subscription_manager.oauth_request (id, doc_source_id, ticket_sha256, expires_at) "
                "values ($1, $2, $3, $4)",
                ticket_id,
                doc_source_id,
                ticket_sha256,
                expires_at,
            )

    async def find_ticket(self, ticket_sha256: bytes) -> ConsentTicket | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                "select id, doc_source_id, expires_at, consent_started_at is not null as is_used "
                "from subscription_manager.oauth_request where ticket_sha256 = $1",
                ticket_sha256,
            )
        if row is None:
            return None
        return ConsentTicket(str(row["id"]), str(row["doc_source_id"]), row["expires_at"], row["is_used"])

    async def redeem_ticket(
        self,
        ticket_id: str,
        now: datetime,
        *,
        state_sha256: bytes,
        cookie_sha256: bytes,
        sealed_flow_secrets: str,
        flow_expires_at: datetime,
    ) -> bool:
        async with acquire_session(self._pool) as conn:
            redeemed = await conn.fetchval(
                "update subscription_manager.oauth_request set consent_started_at = $2, state_sha256 = $3, "
                "cookie_sha256 = $4, sealed_flow_secrets = $5, flow_expires_at = $6 "
                # The condition and not a read before it: a link that is opened twice at once is redeemed once.
                "where id = $1 and consent_started_at is null and expires_at > $2 returning true",
                ticket_id,
                now,
                state_sha256,
                cookie_sha256,
                sealed_flow_secrets,
                flow_expires_at,
            )
        return bool(redeemed)

    async def find_flow(self, state_sha256: bytes) -> ConsentFlow | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                "select id, doc_source_id, cookie_sha256, sealed_flow_secrets, flow_expires_at, "
                "finished_at, sealed_outcome "
                "from subscription_manager.oauth_request where state_sha256 = $1 and sealed_flow_secrets is not null",
                state_sha256,
            )
        if row is None:
            return None
        return ConsentFlow(
            str(row["id"]),
            str(row["doc_source_id"]),
            row["cookie_sha256"],
            row["sealed_flow_secrets"],
            row["flow_expires_at"],
            row["finished_at"],
            row["sealed_outcome"],
        )

    async def finish_flow(self, flow_id: str, now: datetime) -> bool:
        async with acquire_session(self._pool) as conn:
            finished = await conn.fetchval(
                # As above: a callback that a browser repeats redeems its code once.
                "update subscription_manager.oauth_request set finished_at = $2 "
                "where id = $1 and finished_at is null returning true",
                flow_id,
                now,
            )
        return bool(finished)

    async def store_outcome(self, flow_id: str, sealed_outcome: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update subscription_manager.oauth_request set sealed_outcome = $2 where id = $1",
                flow_id,
                sealed_outcome,
            )
