"""How long the coalescer takes to recover a long changelog, and that it ends: the real process on real Kafka.

    python bench/recovery [--records 3000000] [--sources 50000]

The changelog has `--records` records over its 48 partitions, none of them compacted: a segment that is still written
to never is. Then the coalescer is started, with one notification waiting; the time from its start to the request is
printed. Exit code 1 when the process ended by itself meanwhile, or when no request came in half an hour.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from uuid import uuid4

from aiokafka.admin import NewTopic

from mailroom_common.events import Notification
from mailroom_common.kafka.client import create_admin_client, create_consumer, create_producer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import FAUST_CHANGELOG, NOTIFICATIONS, SCHEMAS, SYNC_REQUESTS, list_deployed_topics
from mailroom_sandbox.site.stack.measured_kafka import run_measured_kafka
from mailroom_sandbox.site.stack.ports import free_port

PATIENCE_S = 1800.0
NEEDED = {NOTIFICATIONS.name, NOTIFICATIONS.dead_letter_topic, SYNC_REQUESTS.name, SCHEMAS.name, FAUST_CHANGELOG}
# A window as the coalescer writes it; all of these have long ended and held nothing back.
WINDOW = b'{"ends_at_ms":1764000000000,"held_back":null}'


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--sources", type=int, default=50_000)
    options = parser.parse_args()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mailroom-recovery-")))
        bootstrap = await stack.enter_async_context(run_measured_kafka(folder))
        await create_topics(bootstrap)
        await write_changelog(bootstrap, options.records, options.sources)
        await notify(bootstrap)
        began_s = monotonic()
        coalescer = await start_coalescer(bootstrap)
        ended = asyncio.create_task(coalescer.wait())
        requested = asyncio.create_task(wait_for_request(bootstrap))
        try:
            await asyncio.wait({ended, requested}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
            if not requested.done():
                code = coalescer.returncode
                print("no request came in time" if code is None else f"the coalescer ended with exit code {code}")
                return 1
            took_s = monotonic() - began_s
        finally:
            requested.cancel()
            if coalescer.returncode is None:
                coalescer.terminate()
            await ended
        load = os.getloadavg()[0]
        print(f"{options.records} records: {took_s:.0f} s, {options.records / took_s:.0f}/s, load average {load:.1f}")
        return 0


async def create_topics(bootstrap: str) -> None:
    admin = create_admin_client(KafkaSettings(kafka_bootstrap=bootstrap))
    await admin.start()
    topics = [topic for topic in list_deployed_topics("", 1) if topic.name in NEEDED]
    await admin.create_topics(
        [NewTopic(topic.name, topic.partitions, 1, topic_configs=topic.config) for topic in topics]
    )
    await admin.close()


async def write_changelog(bootstrap: str, records: int, sources: int) -> None:
    """Windows that begin and end in turn, as those of busy mailboxes do."""
    producer = create_producer(KafkaSettings(kafka_bootstrap=bootstrap), linger_ms=50, max_batch_size=256 * 1024)
    await producer.start()
    keys = [str(uuid4()).encode() for _ in range(sources)]
    for number in range(records):
        begins = (number // sources) % 2 == 0
        await producer.send(FAUST_CHANGELOG, WINDOW if begins else None, keys[number % sources])
    await producer.stop()


async def notify(bootstrap: str) -> None:
    source = str(uuid4())
    notification = Notification(
        event_id=str(uuid4()),
        occurred_at=datetime.now(UTC),
        tenant_id="tenant-1",
        doc_source_id=source,
        provider="outlook",
        provider_event="{}",
    )
    async with EventProducer(KafkaSettings(kafka_bootstrap=bootstrap), Codec(), client_id="bench") as producer:
        await producer.send_event(NOTIFICATIONS, source, notification)


async def start_coalescer(bootstrap: str) -> asyncio.subprocess.Process:
    environment = {
        **os.environ,
        "MAILROOM_KAFKA_BOOTSTRAP": bootstrap,
        "MAILROOM_HTTP_PORT": str(free_port()),
        "MAILROOM_LOG_LEVEL": "info",
    }
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "sync_engine", "coalescer", env=environment)


async def wait_for_request(bootstrap: str) -> None:
    consumer = create_consumer(
        KafkaSettings(kafka_bootstrap=bootstrap), SYNC_REQUESTS.name, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        await consumer.getone()
    finally:
        await consumer.stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
