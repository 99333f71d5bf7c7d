"""A member of a group that says in a file what it has finished: to be frozen and thawed.

usage: frozen_child.py windowed|folding BOOTSTRAP PREFIX FILE
"""

import asyncio
import os
import sys
from dataclasses import dataclass, field

from mailroom_common.kafka import membership
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.folding import FoldingConsumer
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord, Partition
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import SYNC_REQUESTS

WORK_S = 0.02


@dataclass(frozen=True)
class Settings:
    kafka_bootstrap: str
    topic_prefix: str
    instance_id: str | None = None


class Finished:
    def __init__(self, file: str) -> None:
        self._fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, partition: int, offset: int) -> None:
        os.write(self._fd, f"{partition} {offset}\n".encode())


@dataclass(eq=False)
class Fold:
    """Works on what it reads beside the reading, while the partition is ours."""

    number: int
    finished: Finished
    pending: dict[int, asyncio.TimerHandle] = field(default_factory=dict)

    def read(self, record: IncomingRecord) -> None:
        self.pending[record.offset] = asyncio.get_running_loop().call_later(WORK_S, self.finish, record.offset)

    def finish(self, offset: int) -> None:
        self.finished.add(self.number, offset)
        del self.pending[offset]

    def committable(self, position: int) -> int:
        return min(self.pending, default=position)

    def reached_end(self) -> None: ...


class Folds:
    def __init__(self, finished: Finished) -> None:
        self._finished = finished
        self._open: dict[Partition, Fold] = {}

    def opened(self, partition: Partition) -> Fold:
        fold = self._open[partition] = Fold(partition.number, self._finished)
        return fold

    async def closed(self, partition: Partition) -> None:
        fold = self._open.pop(partition)
        for timer in fold.pending.values():
            timer.cancel()
        await asyncio.sleep(WORK_S)


async def main(kind: str, bootstrap: str, prefix: str, file: str) -> None:
    membership._DYNAMIC_SESSION_MS = 6_000  # the shortest that Kafka allows
    settings = Settings(bootstrap, prefix)
    codec = Codec()
    finished = Finished(file)
    folds = Folds(finished)

    async def handle(record: IncomingRecord) -> None:
        await asyncio.sleep(WORK_S)
        finished.add(record.partition, record.offset)

    async with EventProducer(settings, codec, client_id="frozen-child") as producer:
        schemas, letters = SchemaDirectory(settings, codec), DeadLetterWriter(producer, "test")
        consumer: WindowedConsumer | FoldingConsumer
        if kind == "windowed":
            consumer = WindowedConsumer(
                settings,
                group="mailroom.test.frozen",
                topics=[SYNC_REQUESTS],
                handle=handle,
                codec=codec,
                schemas=schemas,
                dead_letters=letters,
            )
        else:
            consumer = FoldingConsumer(
                settings,
                group="mailroom.test.frozen",
                topics=[SYNC_REQUESTS],
                opened=folds.opened,
                closed=folds.closed,
                codec=codec,
                schemas=schemas,
                dead_letters=letters,
            )
        await consumer.consume_records(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
