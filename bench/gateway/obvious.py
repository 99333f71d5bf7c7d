"""The obvious way: an ASGI app that makes the gateway's records and awaits aiokafka's own `send` for each.

No limits, counters, answers to errors or other routes: what is left is what the records themselves cost.

usage: obvious.py PORT
"""

import asyncio
import gc
import signal
import sys
from datetime import UTC, datetime

import uvloop
from aiokafka import AIOKafkaProducer
from starlette.types import Receive, Scope, Send

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.headers import event_headers
from mailroom_common.settings import load
from mailroom_common.topics import NOTIFICATIONS
from mailroom_common.tracing import traced
from mailroom_common.web import serve
from webhook_gateway.api.graph_body import items_in
from webhook_gateway.domain.client_states import judge
from webhook_gateway.domain.telling import notification_of_change
from webhook_gateway.settings import Settings


async def main(port: int) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    settings, codec = load(Settings), Codec()
    sources = DocSourceDirectory(settings, codec)
    await sources.load()
    topic = settings.topic_prefix + NOTIFICATIONS.name

    async def push(_scope: Scope, receive: Receive, send: Send) -> None:
        now, sent = datetime.now(UTC), []
        with traced(None):
            for item in items_in((await receive())["body"]):
                _, source = judge(item.client_state, sources.get, now)
                if source is None:
                    raise ValueError("the bench sends genuine items only")
                event = notification_of_change(item, source, now)
                headers = event_headers(event, codec.kind_of(event), b"/mailroom/obvious")
                key = source.doc_source_id.encode()
                sent.append(await producer.send(topic, codec.encode(event), key, headers=headers))
        for record in sent:
            await record
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with AIOKafkaProducer(
        bootstrap_servers=settings.kafka_bootstrap, acks="all", enable_idempotence=True
    ) as producer:
        await producer.partitions_for(topic)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        await serve(push, host="127.0.0.1", port=port, stopping=stopping)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
