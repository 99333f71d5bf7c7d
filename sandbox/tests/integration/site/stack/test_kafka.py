"""Kafka on a folder: stopped in order, killed, started again, and what it kept."""

import os
import signal
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.ports import free_port


async def test_kafka_keeps_acknowledged_records_over_a_stop_and_a_kill(tmp_path: Path) -> None:
    # Other ports each time: what is kept must not depend on them.
    first = await _kafka(tmp_path)
    await _write(first.bootstrap, b"before the stop")
    assert await first.stop(), "SIGTERM ends it in order"
    second = await _kafka(tmp_path)
    await _write(second.bootstrap, b"before the kill")
    os.kill(second.child.pid, signal.SIGKILL)
    await second.child.wait_for_exit()
    third = await _kafka(tmp_path)
    assert await _read(third.bootstrap, 2) == [b"before the stop", b"before the kill"]
    assert await third.stop()


async def test_kafka_that_cannot_start_says_what_its_log_says(tmp_path: Path) -> None:
    kafka = await _kafka(tmp_path, start=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=7\n")
    kafka.start()
    with pytest.raises(Fatal, match=r"(?s)Kafka does not answer.*meta\.properties"):
        await kafka.wait_until_ready()


async def _kafka(folder: Path, *, start: bool = True) -> Kafka:
    port = free_port()
    jar_folder = await jars.provide_jars(find_home().jars)
    kafka = Kafka(folder, jar_folder, port=port, controller_port=free_port(avoid=[port]), log=folder / "kafka.log")
    if start:
        kafka.start()
        await kafka.wait_until_ready()
    return kafka


async def _write(bootstrap: str, value: bytes) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    if "kept" not in await admin.list_topics():
        await admin.create_topics([NewTopic("kept", num_partitions=1, replication_factor=1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        await producer.send_and_wait("kept", value)


async def _read(bootstrap: str, count: int) -> list[bytes]:
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition("kept", 0)])
        return [(await consumer.getone()).value for _ in range(count)]
