"""A producer that connects before its first record is due."""

import asyncio
from types import SimpleNamespace

from structlog.testing import capture_logs

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.settings import KafkaSettings


class _Connections:
    """A client of three brokers; the one in `silent` accepts no connection."""

    def __init__(self, silent: int | None = None) -> None:
        self.connected: list[int] = []
        self._silent = silent
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(nodeId=number) for number in (1, 2, 3)])

    async def ready(self, node_id: int) -> bool:
        if node_id == self._silent:
            await asyncio.Event().wait()
        self.connected.append(node_id)
        return True


def make_producer(connections: _Connections) -> EventProducer:
    producer = EventProducer(KafkaSettings(kafka_bootstrap="127.0.0.1:9092"), Codec(), client_id="test")
    producer._client = SimpleNamespace(client=connections)
    return producer


async def test_a_producer_connects_to_every_broker_before_its_first_record() -> None:
    connections = _Connections()
    await make_producer(connections).connect_to_brokers(timeout_s=5)
    assert connections.connected == [1, 2, 3]


async def test_a_broker_that_does_not_answer_keeps_a_producer_only_for_the_timeout() -> None:
    with capture_logs() as logs:
        await make_producer(_Connections(silent=2)).connect_to_brokers(timeout_s=0.01)
    assert [entry["event"] for entry in logs] == ["kafka_brokers_not_connected"]
