"""A member of a group that says in a file what it has finished: to be frozen and thawed.

usage: frozen_child.py BOOTSTRAP PREFIX FILE
"""

import asyncio
import os
import sys
from dataclasses import dataclass

from mailroom_common.kafka import membership
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import SYNC_REQUESTS

WORK_S = 0.02


@dataclass(frozen=True)
class Settings:
    kafka_bootstrap: str
    topic_prefix: str
    instance_id: str | None = None
    kafka_security: KafkaSecurity = UNSECURED


class Finished:
    def __init__(self, file: str) -> None:
        self._fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, partition: int, offset: int) -> None:
        os.write(self._fd, f"{partition} {offset}\n".encode())


async def main(bootstrap: str, prefix: str, file: str) -> None:
    membership._DYNAMIC_SESSION_MS = 6_000  # the shortest that Kafka allows
    settings = Settings(bootstrap, prefix)
    codec = Codec()
    finished = Finished(file)

    async def handle(record: IncomingRecord) -> None:
        await asyncio.sleep(WORK_S)
        finished.add(record.partition, record.offset)

    async with EventProducer(settings, codec, client_id="frozen-child") as producer:
        schemas, letters = SchemaDirectory(settings, codec), DeadLetterWriter(producer, "test")
        consumer = WindowedConsumer(
            settings,
            group="mailroom.test.frozen",
            topics=[SYNC_REQUESTS],
            handle=handle,
            codec=codec,
            schemas=schemas,
            dead_letters=letters,
        )
        await consumer.consume_records(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
