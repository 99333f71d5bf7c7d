"""The gateway with aiokafka's `send` for each record instead of the group commit, to measure what that saves."""

import asyncio
import sys
from collections.abc import Sequence
from unittest.mock import patch

from aiokafka.errors import KafkaError

from mailroom_common.errors import Unavailable
from mailroom_common.kafka.headers import build_event_headers
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.process import run_process
from mailroom_common.topics import Topic
from webhook_gateway import app
from webhook_gateway.ports import OutgoingEvent
from webhook_gateway.settings import Settings


class PlainSendWriter:
    """Stands in for GroupCommitWriter."""

    def __init__(self, producer: EventProducer) -> None:
        self._producer = producer

    async def learn_partitions(self, *topics: Topic) -> None:
        for topic in topics:
            await self._producer.count_partitions(topic)

    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        producer, client = self._producer, self._producer.get_client()
        acknowledgements = []
        try:
            async with asyncio.timeout(timeout_s):
                for topic, key, event in events:
                    kind = producer.codec.find_kind(event)
                    headers = build_event_headers(event, kind, producer.source)
                    name = producer.topic_name(topic)
                    acknowledgements.append(await client.send(name, kind.encode(event), key.encode(), headers=headers))
                for acknowledgement in acknowledgements:
                    await acknowledgement
        except TimeoutError as error:
            raise Unavailable(f"Kafka did not acknowledge {len(events)} records within {timeout_s:.1f} s") from error
        except KafkaError as error:
            raise producer.translate_error(client, error, producer.topic_name(events[0].topic)) from error


if __name__ == "__main__":
    with patch.object(app, "GroupCommitWriter", PlainSendWriter):
        sys.exit(run_process("webhook_gateway", Settings, app.run))
