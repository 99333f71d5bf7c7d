"""One instance of a service that has an outbox and nothing else; tests start, freeze and kill it.

Says `leads` when it holds the relay's lock. Arguments: database URL, Kafka bootstrap, topic prefix, lease in seconds.
"""

import asyncio
import sys

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.outbox import OutboxRelay
from mailroom_common.settings import KafkaSettings


async def run(database_url: str, bootstrap: str, prefix: str, lease_s: float) -> None:
    settings = KafkaSettings(kafka_bootstrap=bootstrap, topic_prefix=prefix, kafka_replication=1)
    async with EventProducer(settings, Codec(), client_id="outbox-child") as producer:
        sys.stdout.write("up\n")
        sys.stdout.flush()
        await OutboxRelay(database_url, "outbox_test", producer, lease_s=lease_s).run_relay(asyncio.Event())


asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
