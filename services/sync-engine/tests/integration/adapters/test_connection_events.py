"""What is reported to subscription-manager of a connection, and how often."""

from collections.abc import AsyncIterator

import pytest
from migrated_databases import migrate_once
from reports_bench import Bench, known

from mailroom_common.events import (
    ConnectionKind,
    DocSourceState,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.postgres import open_pool
from sync_engine.domain.run_outcomes import RunCompleted

pytestmark = pytest.mark.stack


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    await migrate_once(postgres_url, "sync_engine")
    async with open_pool(postgres_url, application_name="test", max_size=4) as pool:
        yield Bench(pool, Codec())


def key(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key-{tenant}"}


async def test_synced_is_reported_at_most_once_a_minute_and_sums_up_what_nobody_announced(bench: Bench) -> None:
    s = await known(bench)
    await bench.connections.report_synced(s, RunCompleted(new_messages=1, unannounced_messages=1))
    bench.pass_by(30)
    await bench.connections.report_synced(s, RunCompleted(new_messages=2, unannounced_messages=2))
    bench.pass_by(20)
    await bench.connections.report_synced(s, RunCompleted(new_messages=3, unannounced_messages=3))
    assert await bench.kinds(s) == [ConnectionKind.SYNCED]
    bench.pass_by(10)
    await bench.connections.report_synced(s, RunCompleted())
    told = await bench.read_outbox(s)
    assert [(event.kind, event.unannounced) for event in told] == [
        (ConnectionKind.SYNCED, 1),
        (ConnectionKind.SYNCED, 5),
    ]
    assert len({event.event_id for event in told}) == 2
    assert {event.grant_generation for event in told} == {3}


async def test_a_provider_that_keeps_failing_is_reported_once_and_its_recovery_too(bench: Bench) -> None:
    s = await known(bench)
    for _ in range(5):
        await bench.states.back_off(s)
        await bench.connections.report_failing(s, "503", is_failure=True)
    assert await bench.kinds(s) == [ConnectionKind.PROVIDER_FAILING]
    await bench.connections.report_synced(s, RunCompleted())
    await bench.connections.report_synced(s, RunCompleted())
    assert await bench.kinds(s) == [ConnectionKind.PROVIDER_FAILING, ConnectionKind.RECOVERED, ConnectionKind.SYNCED]


async def test_a_single_failure_is_not_worth_a_word(bench: Bench) -> None:
    s = await known(bench)
    await bench.states.back_off(s)
    await bench.connections.report_failing(s, "503", is_failure=True)
    assert await bench.kinds(s) == []


async def test_a_source_that_gets_nowhere_for_a_quarter_of_an_hour_says_so_though_it_is_only_throttled(
    bench: Bench,
) -> None:
    s = await known(bench)
    for _ in range(4):
        await bench.states.back_off(s, is_throttled=True)
        await bench.connections.report_failing(s, "429", is_failure=False)
        assert await bench.kinds(s) == []
        bench.pass_by(240)
    await bench.states.back_off(s, is_throttled=True)
    await bench.connections.report_failing(s, "429", is_failure=False)
    (event,) = await bench.read_outbox(s)
    assert (event.kind, event.detail) == (
        ConnectionKind.PROVIDER_FAILING,
        "no progress since 2026-03-02 12:00 UTC: 429",
    )
    await bench.states.record_success(s, None)
    assert (await bench.states.raise_version_and_read_state(s)).stalled_since is None


async def test_a_refusal_found_twice_is_one_event_until_a_sync_has_worked_in_between(bench: Bench) -> None:
    s = await known(bench)
    for _ in range(2):
        await bench.connections.report_not_syncable(s, ConnectionKind.ACCESS_DENIED, "403")
        bench.pass_by(900)
    assert len({event.event_id for event in await bench.read_outbox(s)}) == 1
    await bench.connections.report_synced(s, RunCompleted())
    await bench.connections.report_not_syncable(s, ConnectionKind.ACCESS_DENIED, "403")
    denied = [event for event in await bench.read_outbox(s) if event.kind is ConnectionKind.ACCESS_DENIED]
    assert len(denied) == 3
    assert len({event.event_id for event in denied}) == 2


async def test_of_a_forgotten_source_nothing_is_reported_any_more(bench: Bench) -> None:
    s = await known(bench, state=DocSourceState.DELETING)
    await bench.deletions.forget_source(s)
    await bench.deletions.forget_source(s)
    await bench.connections.report_synced(s, RunCompleted(new_messages=1))
    await bench.connections.report_failing(s, "503", is_failure=True)
    await bench.connections.report_not_syncable(s, ConnectionKind.MAILBOX_GONE, "404")
    assert await bench.kinds(s) == [ConnectionKind.FORGOTTEN]
