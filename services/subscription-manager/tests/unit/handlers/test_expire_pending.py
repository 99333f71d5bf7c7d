import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from connection_samples import DURATIONS, ID, NOW, OTHER_ID, Clock, WakeCounter, make_connection
from fake_connection_store import FakeConnectionStore
from fake_consents import FakeGrantStore

from mailroom_common.errors import Unavailable
from subscription_manager.app import run_once_versions_agree
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.handlers.change_connection_state import ChangeConnectionState
from subscription_manager.handlers.expire_pending import PendingExpirer

MONTH = timedelta(days=30)


def make_pending(**changed: object) -> Connection:
    """One that was made 31 days ago."""
    usual = {"state": ConnectionState.PENDING, "created_at": NOW - timedelta(days=31), "provider_user_id": None}
    return make_connection(**{**usual, **changed})


class Expiring:
    """A loop over fakes; `run_round` returns once the first round has ended."""

    def __init__(self, *connections: Connection) -> None:
        self.connections = RoundStore(*connections)
        self.grants = FakeGrantStore()
        self.change = ChangeConnectionState(self.connections, self.grants, DURATIONS, WakeCounter(), Clock())

    async def run_round(self, delete_pending: Callable[[str], Awaitable[bool]] | None = None) -> None:
        expirer = PendingExpirer(
            self.connections, delete_pending or self.change.delete_pending, lifetime=MONTH, clock=Clock()
        )
        self.connections.stopping.clear()
        await asyncio.wait_for(expirer.run_expiry(self.connections.stopping), 15)

    def list_states(self) -> list[ConnectionState]:
        return [row.state for row in self.connections.rows.values()]


class RoundStore(FakeConnectionStore):
    def __init__(self, *connections: Connection) -> None:
        super().__init__(*connections)
        self.stopping = asyncio.Event()
        self.error: Exception | None = None

    async def list_expired_pending(self, created_before: datetime, now: datetime, limit: int) -> Sequence[str]:
        self.stopping.set()
        if self.error is not None:
            raise self.error
        return await super().list_expired_pending(created_before, now, limit)


async def test_what_nobody_consented_to_for_a_month_is_deleted_and_nothing_else() -> None:
    expiring = Expiring(
        make_pending(),
        make_pending(id=OTHER_ID, created_at=NOW - timedelta(days=29)),
        make_connection(id="33333333-3333-4333-8333-333333333333", created_at=NOW - timedelta(days=400)),
    )
    await expiring.run_round()
    assert expiring.list_states() == [ConnectionState.DELETED, ConnectionState.PENDING, ConnectionState.ACTIVE]
    assert [(key, event) for key, _, event in expiring.connections.published] == [(ID, None)]


async def test_one_whose_link_was_made_lately_is_kept() -> None:
    expiring = Expiring(make_pending())
    expiring.connections.link_ends[ID] = NOW - timedelta(days=1)
    await expiring.run_round()
    assert expiring.list_states() == [ConnectionState.PENDING]


async def test_consent_that_ends_before_the_deletion_wins() -> None:
    expiring = Expiring(make_pending())

    async def consent() -> None:
        expiring.connections.rows[ID] = make_connection()

    expiring.connections.before_lock = consent
    await expiring.run_round()
    assert expiring.list_states() == [ConnectionState.ACTIVE]
    assert expiring.connections.published == []


async def test_grant_of_a_consent_that_failed_at_its_end_is_given_back() -> None:
    expiring = Expiring(make_pending())
    await expiring.grants.add_tokens(ID)
    await expiring.run_round()
    row = expiring.connections.only_row()
    assert (row.state, row.next_check_at) == (ConnectionState.DELETING, NOW)


async def test_absence_of_postgres_ends_nothing() -> None:
    expiring = Expiring(make_pending())
    expiring.connections.error = Unavailable("Postgres")
    await expiring.run_round()
    assert expiring.list_states() == [ConnectionState.PENDING]
    expiring.connections.error = None
    await expiring.run_round()
    assert expiring.list_states() == [ConnectionState.DELETED]


async def test_more_than_a_batch_is_deleted_in_one_round() -> None:
    ids = [f"{number:08}-1111-4111-8111-111111111111" for number in range(250)]
    expiring = Expiring(*(make_pending(id=one) for one in ids))
    deleted: list[str] = []

    async def delete_pending(doc_source_id: str) -> bool:
        deleted.append(doc_source_id)
        expiring.connections.stopping.clear()
        if len(deleted) == len(ids):
            expiring.connections.stopping.set()
        return await expiring.change.delete_pending(doc_source_id)

    await expiring.run_round(delete_pending)
    assert sorted(deleted) == ids


async def test_loop_that_trusts_the_table_begins_only_once_it_agrees_with_the_topic() -> None:
    versions_agree, stopping, began = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run_loop(_stopping: asyncio.Event) -> None:
        began.set()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(run_once_versions_agree(run_loop, versions_agree, stopping))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not began.is_set()
        versions_agree.set()
        await began.wait()
