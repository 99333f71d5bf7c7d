"""The obvious way (kafka.md 4.1): a bare ASGI app that does what a gateway must at least, each step by its library.

orjson parses the body, `compare_digest` verifies each item against the directory, fastavro encodes it, aiokafka's
`send` is awaited for each record, and then its acknowledgement. No limits, ids, headers, counters, refusals, other
routes.
"""

import sys
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from io import BytesIO

import fastavro
import orjson
from starlette.types import Receive, Scope, Send

from mailroom_common.kafka.client import create_producer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.schema_files import load_packaged_schemas
from mailroom_common.process import Process, run_process
from mailroom_common.topics import NOTIFICATIONS
from mailroom_common.web import serve_app
from webhook_gateway.app import freeze_heap
from webhook_gateway.settings import Settings


async def run(settings: Settings, process: Process) -> None:
    sources = DocSourceDirectory(settings, Codec())
    await sources.load_sources()
    topic = settings.topic_prefix + NOTIFICATIONS.name
    schema = load_packaged_schemas()["notifications"][-1].parsed

    async def receive_push(_scope: Scope, receive: Receive, send: Send) -> None:
        now, sent = datetime.now(UTC), []
        for item in orjson.loads((await receive())["body"])["value"]:
            doc_source_id = item["clientState"].partition(":")[0]
            source = sources.get_source(doc_source_id)
            received_hash = sha256(item["clientState"].encode()).hexdigest()
            if source is None or not compare_digest(received_hash, source.client_states[0].sha256):
                raise ValueError("the bench sends genuine items only")
            value = BytesIO()
            provider_event = f"{item['subscriptionId']}|{item['resourceData']['id']}|{item['changeType']}"
            record = {
                "event_id": provider_event,
                "occurred_at": now,
                "tenant_id": source.tenant_id,
                "doc_source_id": doc_source_id,
                "provider": "outlook",
                "subscription_id": item["subscriptionId"],
                "change_type": item["changeType"],
                "message_id": item["resourceData"]["id"],
                "history_id": None,
                "provider_event": provider_event,
            }
            fastavro.schemaless_writer(value, schema, record)
            sent.append(await producer.send(topic, value.getvalue(), doc_source_id.encode()))
        for acknowledgement in sent:
            await acknowledgement
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with create_producer(settings, acks="all", enable_idempotence=True) as producer:
        await producer.partitions_for(topic)
        freeze_heap()
        await serve_app(receive_push, host=settings.http_host, port=settings.http_port, stopping=process.stopping)


if __name__ == "__main__":
    sys.exit(run_process("bench_obvious", Settings, run))
