"""Links and browser flows in Postgres; each is used by one conditional update, so that two at once are one."""

from datetime import datetime

import asyncpg

from mailroom_common.postgres import acquire_session
from subscription_manager.ports import Flow, Ticket


class PgFlows:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add_ticket(self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            # Kept for two days, so that an old link is told from one that is none of ours.
            await conn.execute(
                "delete from subscription_manager.oauth_request where expires_at < $1::timestamptz - interval '2 days'",
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

    async def ticket(self, ticket_sha256: bytes) -> Ticket | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                "select id, doc_source_id, expires_at, used_at is not null as is_used "
                "from subscription_manager.oauth_request where ticket_sha256 = $1",
                ticket_sha256,
            )
        if row is None:
            return None
        return Ticket(str(row["id"]), str(row["doc_source_id"]), row["expires_at"], row["is_used"])

    async def use_ticket(
        self,
        ticket_id: str,
        now: datetime,
        *,
        state_sha256: bytes,
        cookie_sha256: bytes,
        sealed: str,
        flow_expires_at: datetime,
    ) -> bool:
        async with acquire_session(self._pool) as conn:
            used = await conn.fetchval(
                "update subscription_manager.oauth_request set used_at = $2, state_sha256 = $3, cookie_sha256 = $4, "
                "sealed_flow = $5, flow_expires_at = $6 where id = $1 and used_at is null and expires_at > $2 "
                "returning true",
                ticket_id,
                now,
                state_sha256,
                cookie_sha256,
                sealed,
                flow_expires_at,
            )
        return bool(used)

    async def flow(self, state_sha256: bytes) -> Flow | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                "select id, doc_source_id, cookie_sha256, sealed_flow, flow_expires_at, "
                "finished_at is not null as is_finished "
                "from subscription_manager.oauth_request where state_sha256 = $1 and sealed_flow is not null",
                state_sha256,
            )
        if row is None:
            return None
        return Flow(
            str(row["id"]),
            str(row["doc_source_id"]),
            row["cookie_sha256"],
            row["sealed_flow"],
            row["flow_expires_at"],
            row["is_finished"],
        )

    async def finish(self, flow_id: str, now: datetime) -> bool:
        async with acquire_session(self._pool) as conn:
            finished = await conn.fetchval(
                "update subscription_manager.oauth_request set finished_at = $2 "
                "where id = $1 and finished_at is null returning true",
                flow_id,
                now,
            )
        return bool(finished)
