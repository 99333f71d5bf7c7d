import asyncio
from collections.abc import Callable, Mapping

from connection_samples import ID, OTHER_ID, make_connection
from fake_connection_store import FakeConnectionStore

from mailroom_common.errors import Unavailable
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.repair_doc_sources import DocSourceRepairer
from subscription_manager.ports import PublishedVersion


class Topic:
    """`doc-sources` as a reader knows it that goes on reading."""

    def __init__(self) -> None:
        self.outdated: dict[str, int] = {}
        self._report: Callable[[str], None] | None = None

    def list_outdated(self) -> Mapping[str, int]:
        return self.outdated

    def on_outdated(self, listener: Callable[[str], None]) -> None:
        self._report = listener

    def write_late(self, doc_source_id: str, version: int) -> None:
        assert self._report is not None
        self.outdated[doc_source_id] = version
        self._report(doc_source_id)


class Store(FakeConnectionStore):
    """What is republished is read back at once; `repaired` is set then. `looked` counts the look-ups."""

    def __init__(self, topic: Topic, *states: tuple[str, ConnectionState]) -> None:
        super().__init__(*(make_connection(id=one, state=state, published_version=7) for one, state in states))
        self.topic = topic
        self.repaired = asyncio.Event()
        self.looked = asyncio.Event()
        self.errors: list[Exception] = []

    async def find_published_version(self, doc_source_id: str) -> PublishedVersion | None:
        self.looked.set()
        if self.errors:
            raise self.errors.pop()
        return await super().find_published_version(doc_source_id)

    async def republish_doc_source(self, doc_source_id: str) -> None:
        await super().republish_doc_source(doc_source_id)
        del self.topic.outdated[doc_source_id]
        self.repaired.set()


class Running:
    """A repairer over its fakes, at work within the block."""

    def __init__(self, *states: tuple[str, ConnectionState]) -> None:
        self.topic = Topic()
        self.store = Store(self.topic, *(states or ((ID, ConnectionState.ACTIVE),)))
        self._stopping = asyncio.Event()
        self._repairer = DocSourceRepairer(self.store, self.topic, max_delay_s=0.01)

    async def __aenter__(self) -> "Running":
        self._task = asyncio.create_task(self._repairer.run_repairs(self._stopping))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        await asyncio.wait_for(self._task, 15)

    async def repair(self) -> None:
        await asyncio.wait_for(self.store.repaired.wait(), 15)
        self.store.repaired.clear()


async def test_older_version_that_is_written_last_is_followed_by_the_newest_each_time() -> None:
    async with Running() as running:
        for version in (6, 5):
            running.topic.write_late(ID, version)
            await running.repair()
    assert running.store.republished == [ID, ID]


async def test_deleted_doc_source_gets_its_tombstone_again() -> None:
    async with Running((ID, ConnectionState.DELETED)) as running:
        running.topic.write_late(ID, 6)
        await running.repair()
    assert running.store.republished == [ID]


async def test_what_another_instance_has_repaired_meanwhile_is_left() -> None:
    async with Running((ID, ConnectionState.ACTIVE), (OTHER_ID, ConnectionState.ACTIVE)) as running:
        running.topic.write_late(ID, 6)
        running.topic.write_late(OTHER_ID, 6)
        del running.topic.outdated[ID]
        await running.repair()
    assert running.store.republished == [OTHER_ID]


async def test_version_that_waits_in_the_outbox_is_not_doubled() -> None:
    async with Running() as running:
        running.store.waiting.add(ID)
        running.topic.write_late(ID, 6)
        await asyncio.wait_for(running.store.looked.wait(), 15)
    assert running.store.republished == []


async def test_repair_is_tried_again_after_an_absence_of_postgres() -> None:
    async with Running() as running:
        running.store.errors = [Unavailable("Postgres")]
        running.topic.write_late(ID, 6)
        await running.repair()
    assert running.store.republished == [ID]


async def test_record_that_is_newer_than_the_table_is_left_to_the_next_start() -> None:
    """A table that was restored is compared as a whole, at the start."""
    async with Running() as running:
        running.topic.write_late(ID, 8)
        await asyncio.wait_for(running.store.looked.wait(), 15)
    assert running.store.republished == []
