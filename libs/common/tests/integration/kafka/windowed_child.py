"""A windowed consumer whose handler takes its time, and says in a file what it has finished: to be killed.

usage: windowed_child.py BOOTSTRAP PREFIX FILE
"""

import asyncio
import os
import random
import sys
from dataclasses import dataclass

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import ATTACHMENTS


@dataclass(frozen=True)
class Settings:
    kafka_bootstrap: str
    topic_prefix: str
    instance_id: str = "child"  # the next one of this name has its partitions at once
    kafka_security: KafkaSecurity = UNSECURED


async def main(bootstrap: str, prefix: str, file: str) -> None:
    settings = Settings(bootstrap, prefix)
    codec = Codec()
    finished = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def handle(record: IncomingRecord) -> None:
        # Some records take long, so that those after them finish first.
        await asyncio.sleep(random.choice([0.001, 0.001, 0.02, 0.3]))
        os.write(finished, f"{record.partition} {record.offset}\n".encode())

    async with EventProducer(settings, codec, client_id="windowed-child") as producer:
        consumer = WindowedConsumer(
            settings,
            group="mailroom.test.windowed",
            topics=[ATTACHMENTS],
            handle=handle,
            codec=codec,
            schemas=SchemaDirectory(settings, codec),
            dead_letters=DeadLetterWriter(producer, "test"),
            window=100,
            max_concurrent=16,
        )
        await consumer.consume_records(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
