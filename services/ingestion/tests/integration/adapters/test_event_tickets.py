"""Tickets of event streams: one stream each, for a while, and never readable in the database."""

import asyncio
from collections import Counter
from datetime import timedelta

import asyncpg
import pytest

from ingestion.adapters.event_tickets import PgEventTickets

pytestmark = pytest.mark.stack


async def test_of_many_that_come_with_one_ticket_one_gets_the_tenant(pool: asyncpg.Pool) -> None:
    tickets = PgEventTickets(pool, lifetime=timedelta(minutes=1))
    ticket, _ = await tickets.issue_ticket("acme")
    redeemed = await asyncio.gather(*(tickets.redeem_ticket(ticket) for _ in range(8)))
    assert Counter(redeemed) == {"acme": 1, None: 7}


async def test_an_expired_ticket_opens_nothing_and_is_deleted_with_the_next(pool: asyncpg.Pool) -> None:
    tickets = PgEventTickets(pool, lifetime=timedelta(minutes=1))
    expired, _ = await tickets.issue_ticket("acme")
    unused, _ = await tickets.issue_ticket("acme")
    await pool.execute("update ingestion.event_ticket set expires_at = now() - interval '1 second'")
    assert await tickets.redeem_ticket(expired) is None
    await tickets.issue_ticket("acme")
    assert await pool.fetchval("select count(*) from ingestion.event_ticket") == 1
    assert await tickets.redeem_ticket(unused) is None


async def test_a_ticket_is_stored_as_its_hash(pool: asyncpg.Pool) -> None:
    ticket, _ = await PgEventTickets(pool, lifetime=timedelta(minutes=1)).issue_ticket("acme")
    assert ticket not in str([dict(row) for row in await pool.fetch("select * from ingestion.event_ticket")])
