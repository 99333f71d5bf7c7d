"""A member that stands still for longer than its session, as in a paused machine, and goes on."""

import asyncio
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from kafka_site import KafkaSite

from mailroom_common.events import SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import SYNC_REQUESTS

pytestmark = pytest.mark.stack

GROUP = "mailroom.test.frozen"
PARTITIONS = (0, 1)
AT = datetime(2026, 11, 28, tzinfo=UTC)
Eventually = Callable[..., Awaitable[None]]


class Member:
    """The child, what it says that it has finished, and what Kafka says that is committed."""

    def __init__(self, site: KafkaSite, process: asyncio.subprocess.Process, file: Path) -> None:
        self.site = site
        self.process = process
        self.file = file
        self.file.touch()
        self.written = 0

    async def write(self, count: int) -> None:
        for partition in PARTITIONS:
            keys = [f"ds-{number}" for number in range(self.written, self.written + count)]
            await self.site.write_raw(SYNC_REQUESTS.name, [(key.encode(), encoded(key)) for key in keys], partition)
        self.written += count

    def finished(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for line in self.file.read_text().splitlines():
            partition, offset = line.split()
            found[int(partition)].add(int(offset))
        return found

    async def committed(self) -> dict[int, int]:
        """Nothing below it is unfinished, whenever one looks."""
        committed = {number: await self.site.committed(GROUP, SYNC_REQUESTS, number) or 0 for number in PARTITIONS}
        finished = self.finished()
        for partition, offset in committed.items():
            assert finished[partition] >= set(range(offset))
        return committed

    async def freeze_with_uncommitted_progress(self) -> None:
        """A commit may be through just when the member is frozen: then it goes on, and is frozen again."""
        while True:
            await self.write(5)
            await asyncio.sleep(0.2)
            self.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(0.1)  # what it had sent is answered
            committed, finished = await self.committed(), self.finished()
            if all(committed[number] in finished[number] for number in PARTITIONS):
                return
            self.process.send_signal(signal.SIGCONT)

    async def is_forgotten(self) -> bool:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.site.kafka_bootstrap)
        await admin.start()
        try:
            [described] = await admin.describe_consumer_groups([self.site.topic_prefix + GROUP])
        finally:
            await admin.close()
        [(_error, _group, state, *_)] = described.groups
        return bool(state == "Empty")

    async def has_finished_and_committed_all(self) -> bool:
        committed, finished = await self.committed(), self.finished()
        everything = set(range(self.written))
        return all(finished[number] == everything and committed[number] == self.written for number in PARTITIONS)


def encoded(key: str) -> bytes:
    return Codec().encode(
        SyncRequest(
            event_id=f"e-{key}",
            occurred_at=AT,
            tenant_id="acme",
            doc_source_id=key,
            reasons=[SyncReason.MANUAL],
            first_requested_at=AT,
        )
    )


@asynccontextmanager
async def member_of_group(site: KafkaSite, file: Path) -> AsyncIterator[Member]:
    script = str(Path(__file__).parent / "frozen_child.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, site.kafka_bootstrap, site.topic_prefix, str(file)
    )
    try:
        yield Member(site, process, file)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_frozen_past_its_session_with_uncommitted_progress_a_member_then_takes_every_record(
    site: KafkaSite, tmp_path: Path, eventually: Eventually
) -> None:
    async with member_of_group(site, tmp_path / "finished") as member:
        await member.write(20)
        await eventually(member.has_finished_and_committed_all)
        await member.freeze_with_uncommitted_progress()
        await eventually(member.is_forgotten, within_s=40)
        await member.write(20)  # while nobody is in the group

        member.process.send_signal(signal.SIGCONT)

        await eventually(member.has_finished_and_committed_all, within_s=40)
        await member.write(20)
        await eventually(member.has_finished_and_committed_all)
        assert member.process.returncode is None
