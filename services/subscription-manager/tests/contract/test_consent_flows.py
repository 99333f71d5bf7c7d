"""One suite for the fake and the real `ConsentFlowStore`."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from connection_samples import NOW, Clock, make_connection
from fake_consents import FakeConsentFlowStore
from migrated_databases import migrate_once

from mailroom_common.kafka.codec import Codec
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from subscription_manager.adapters.connection_store import SCHEMA, PgConnectionStore
from subscription_manager.adapters.consent_flows import PgConsentFlowStore
from subscription_manager.ports import ConsentFlowStore

pytestmark = pytest.mark.stack

DOC_SOURCE = make_connection().id


@pytest.fixture(params=["fake", "postgres"])
async def flows(request: pytest.FixtureRequest) -> AsyncIterator[ConsentFlowStore]:
    if request.param == "fake":
        yield FakeConsentFlowStore()
        return
    url: str = request.getfixturevalue("postgres_url")
    await migrate_once(url, SCHEMA)
    async with open_pool(url, application_name="test", max_size=6) as pool:
        connections = PgConnectionStore(pool, Outbox(SCHEMA, Codec()), Clock())
        if await connections.find_connection(DOC_SOURCE) is None:
            await connections.add_connection(make_connection())
        await pool.execute("delete from subscription_manager.oauth_request")
        yield PgConsentFlowStore(pool)


async def add_ticket(flows: ConsentFlowStore, ticket: bytes, expires_at: datetime = NOW + timedelta(hours=1)) -> str:
    ticket_id = str(uuid4())
    await flows.add_ticket(ticket_id, DOC_SOURCE, ticket, expires_at)
    return ticket_id


async def redeem_ticket(flows: ConsentFlowStore, ticket_id: str, state: bytes, now: datetime = NOW) -> bool:
    return await flows.redeem_ticket(
        ticket_id,
        now,
        state_sha256=state,
        cookie_sha256=b"cookie",
        sealed_flow_secrets="sealed",
        flow_expires_at=NOW + timedelta(minutes=10),
    )


async def test_ticket_is_found_by_its_hash(flows: ConsentFlowStore) -> None:
    ticket_id = await add_ticket(flows, b"t1")
    found = await flows.find_ticket(b"t1")
    assert found is not None
    assert (found.id, found.doc_source_id, found.is_used) == (ticket_id, DOC_SOURCE, False)
    assert found.expires_at == NOW + timedelta(hours=1)
    assert await flows.find_ticket(b"t2") is None


async def test_ticket_that_two_use_at_once_is_used_by_one(flows: ConsentFlowStore) -> None:
    ticket_id = await add_ticket(flows, b"t1")
    used = await asyncio.gather(*(redeem_ticket(flows, ticket_id, f"s{number}".encode()) for number in range(5)))
    assert sorted(used) == [False, False, False, False, True]
    found = await flows.find_ticket(b"t1")
    assert found is not None
    assert found.is_used


async def test_ticket_that_is_too_old_is_not_used(flows: ConsentFlowStore) -> None:
    ticket_id = await add_ticket(flows, b"t1", NOW)
    assert not await redeem_ticket(flows, ticket_id, b"s1")
    assert await flows.find_flow(b"s1") is None


async def test_flow_is_found_by_its_state_and_finished_once(flows: ConsentFlowStore) -> None:
    ticket_id = await add_ticket(flows, b"t1")
    assert await redeem_ticket(flows, ticket_id, b"s1")
    flow = await flows.find_flow(b"s1")
    assert flow is not None
    assert (flow.id, flow.doc_source_id, flow.cookie_sha256, flow.sealed_flow_secrets) == (
        ticket_id,
        DOC_SOURCE,
        b"cookie",
        "sealed",
    )
    finished = await asyncio.gather(*(flows.finish_flow(flow.id, NOW) for _ in range(5)))
    assert sorted(finished) == [False, False, False, False, True]
    again = await flows.find_flow(b"s1")
    assert again is not None
    assert (flow.finished_at, again.finished_at) == (None, NOW)
    assert await flows.find_flow(b"unknown") is None


async def test_outcome_is_found_with_its_flow(flows: ConsentFlowStore) -> None:
    ticket_id = await add_ticket(flows, b"t1")
    await redeem_ticket(flows, ticket_id, b"s1")
    before = await flows.find_flow(b"s1")
    await flows.store_outcome(ticket_id, "sealed outcome")
    after = await flows.find_flow(b"s1")
    assert before is not None
    assert after is not None
    assert (before.sealed_outcome, after.sealed_outcome) == (None, "sealed outcome")
