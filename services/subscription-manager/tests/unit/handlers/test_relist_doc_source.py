from datetime import datetime, timedelta

import pytest
from connection_samples import ID, NOW, make_connection
from consent_setup import ConsentSetup

from mailroom_common.events import Relist, SyncReason
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.handlers.change_connection_state import WrongConnectionState
from subscription_manager.handlers.create_doc_source import StartNotAllowed
from subscription_manager.handlers.relist_doc_source import InvalidRelist

START = NOW - timedelta(days=10)
LAST_WEEK = NOW - timedelta(days=7)
LAST_YEAR = NOW - timedelta(days=365)


@pytest.fixture
def setup() -> ConsentSetup:
    return ConsentSetup(make_connection(start_at=START))


async def relist(
    setup: ConsentSetup,
    relist_from: datetime | None = LAST_WEEK,
    start_at: datetime | None = None,
    *,
    may_move_start: bool = False,
    tenant: str = "acme",
) -> Connection | None:
    return await setup.relist.relist_doc_source(
        tenant, ID, relist_from=relist_from, start_at=start_at, may_move_start=may_move_start
    )


async def test_it_is_carried_by_a_new_version_and_asked_for_in_the_backfill_lane(setup: ConsentSetup) -> None:
    before = setup.connections.rows[ID].published_version
    changed = await relist(setup)
    assert changed is not None
    assert (changed.relist_from, changed.relist_number, changed.start_at) == (LAST_WEEK, 1, START)
    assert changed.published_version == before + 1
    assert setup.connections.sync_requests == [(ID, SyncReason.REPLAY)]


async def test_the_same_date_again_is_another_re_list(setup: ConsentSetup) -> None:
    first, second = await relist(setup), await relist(setup)
    assert first is not None
    assert second is not None
    assert (second.relist_number, second.published_version) == (2, first.published_version + 1)


async def test_a_wider_one_that_may_not_have_begun_is_carried_on(setup: ConsentSetup) -> None:
    yesterday, today = NOW - timedelta(days=1), NOW - timedelta(hours=1)
    await relist(setup, LAST_WEEK)
    await relist(setup, today)
    carried = await relist(setup, yesterday)
    assert carried is not None
    assert (carried.relist_from, carried.earlier_relists) == (yesterday, (Relist(number=1, relist_from=LAST_WEEK),))
    covered = await relist(setup, START)
    assert covered is not None
    assert covered.earlier_relists == (), "the newest lists all of them"


async def test_of_many_the_oldest_become_one_that_lists_as_much(setup: ConsentSetup) -> None:
    for hour in range(24):
        await relist(setup, LAST_WEEK + timedelta(hours=hour))
    earlier = setup.connections.rows[ID].earlier_relists
    assert len(earlier) == 8
    assert earlier[0] == Relist(number=16, relist_from=LAST_WEEK)
    assert earlier[-1] == Relist(number=23, relist_from=LAST_WEEK + timedelta(hours=22))


async def test_a_paused_one_is_listed_again_when_it_is_resumed(setup: ConsentSetup) -> None:
    setup.connections.rows[ID] = make_connection(start_at=START, state=ConnectionState.PAUSED)
    assert await relist(setup) is not None
    assert setup.connections.sync_requests == []


@pytest.mark.parametrize("state", [ConnectionState.PENDING, ConnectionState.DELETING])
async def test_one_that_is_deleted_or_not_connected_is_not_listed(setup: ConsentSetup, state: ConnectionState) -> None:
    setup.connections.rows[ID] = make_connection(start_at=START, state=state)
    with pytest.raises(WrongConnectionState):
        await relist(setup)


async def test_mail_before_the_start_is_not_to_be_had_by_a_re_list(setup: ConsentSetup) -> None:
    with pytest.raises(InvalidRelist, match="before start_at"):
        await relist(setup, LAST_YEAR, may_move_start=True)


async def test_an_earlier_start_is_for_admins(setup: ConsentSetup) -> None:
    with pytest.raises(StartNotAllowed):
        await relist(setup, None, LAST_YEAR)
    changed = await relist(setup, None, LAST_YEAR, may_move_start=True)
    assert changed is not None
    assert (changed.start_at, changed.relist_from) == (LAST_YEAR, LAST_YEAR)


@pytest.mark.parametrize(
    ("relist_from", "start_at"), [(NOW + timedelta(hours=1), None), (LAST_WEEK, NOW - timedelta(days=1))]
)
async def test_a_time_to_come_and_a_later_start_are_refused(
    setup: ConsentSetup, relist_from: datetime, start_at: datetime | None
) -> None:
    with pytest.raises(InvalidRelist):
        await relist(setup, relist_from, start_at, may_move_start=True)


async def test_doc_source_of_another_tenant_is_not_listed(setup: ConsentSetup) -> None:
    assert await relist(setup, tenant="other") is None
    assert setup.connections.rows[ID].relist_number == 0
