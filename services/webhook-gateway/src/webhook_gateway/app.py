"""Composition root: everything that the process owns, on one page."""

import asyncio
import gc
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.logs import get_logger
from mailroom_common.process import Process
from mailroom_common.providers.http import open_client
from mailroom_common.topics import LIFECYCLE_EVENTS, NOTIFICATIONS
from mailroom_common.web import build_service_app, serve_app
from webhook_gateway.adapters.google_keys import GoogleKeys
from webhook_gateway.adapters.pubsub_proof import GoogleSigned, PubSubProof
from webhook_gateway.api.http import Dispatcher
from webhook_gateway.api.webhooks import Webhooks
from webhook_gateway.handlers.catch_up import CatchUps
from webhook_gateway.handlers.receive_gmail import ReceiveGmail
from webhook_gateway.handlers.receive_graph import ReceiveGraph
from webhook_gateway.settings import Settings, networks_in

log = get_logger()


async def compose(settings: Settings, process: Process) -> None:
    codec = Codec()
    schemas = SchemaDirectory(settings, codec, client_id="webhook-gateway-schemas")
    sources = DocSourceDirectory(settings, codec, schemas=schemas, client_id="webhook-gateway-directory")
    producer = EventProducer(settings, codec, client_id="webhook-gateway")
    clock = Clock()
    starting = Starting()
    process.health.add_readiness("start", starting.reason)
    warn_of_unchecked_subscription(settings)

    async with AsyncExitStack() as stack:
        stack.push_async_callback(producer.close)
        http = await stack.enter_async_context(open_client(settings, timeout_s=5.0))
        keys = GoogleKeys(http, settings.google_certs_url)
        catch_ups = CatchUps(sources, within_s=settings.catch_up_within_s, most=settings.most_catch_ups)
        webhooks = Webhooks(
            ReceiveGraph(sources, producer, catch_ups, clock=clock),
            ReceiveGmail(sources, producer, catch_ups, clock=clock),
            PubSubProof(static_token=_static_token(settings), signed=_signed(settings, keys)),
            is_ready=starting.reason,
            subscription=settings.pubsub_subscription,
            trusted_proxies=networks_in(settings.trusted_proxies),
            max_body_bytes=settings.max_body_bytes,
            answer_within_s=settings.answer_within_s,
        )
        app = Dispatcher(webhooks.endpoints(), build_service_app(process, title="Mailroom webhook gateway"))

        async def start_and_follow() -> None:
            # The server answers meanwhile: handshakes at once, pushes with 503, readiness with what is missing.
            await producer.__aenter__()
            await producer.learn_partitions(NOTIFICATIONS, LIFECYCLE_EVENTS)
            await schemas.load_schemas()
            await sources.load_sources()
            freeze_heap()
            starting.is_done = True
            log.info("gateway_ready", sources=len(sources))
            async with asyncio.TaskGroup() as followers:
                followers.create_task(schemas.follow_topic(process.stopping))
                followers.create_task(sources.follow_topic(process.stopping))

        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(start_and_follow())]
            if settings.pubsub_audience is not None:
                background.append(tasks.create_task(keys.run()))
            # Returns once the last request in flight is answered; only then is the producer closed.
            await serve_app(app, host=settings.http_host, port=settings.http_port, stopping=process.stopping)
            for task in background:
                task.cancel()


class Starting:
    """Ready only once the directory is read to its end. A Kafka that goes away later changes nothing: the pod stays
    ready, since it has the answer (503)."""

    def __init__(self) -> None:
        self.is_done = False

    def reason(self) -> str | None:
        return None if self.is_done else "doc-sources is not read to its end yet"


def warn_of_unchecked_subscription(settings: Settings) -> None:
    """A push that shows the right token is then taken whichever Pub/Sub subscription sent it."""
    takes_gmail_pushes = settings.pubsub_token is not None or settings.pubsub_audience is not None
    if takes_gmail_pushes and settings.pubsub_subscription is None:
        log.warning("pubsub_subscription_unchecked", setting="MAILROOM_PUBSUB_SUBSCRIPTION")


def freeze_heap() -> None:
    """The directory is most of the heap and lives as long as the process: collecting it again and again would own
    the slowest answers (measured: p99 from 50 to 23 ms)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _signed(settings: Settings, keys: GoogleKeys) -> GoogleSigned | None:
    if settings.pubsub_audience is None or settings.pubsub_service_account is None:
        return None
    return GoogleSigned(keys, settings.pubsub_audience, settings.pubsub_service_account)


def _static_token(settings: Settings) -> str | None:
    return None if settings.pubsub_token is None else settings.pubsub_token.get_secret_value()


class Clock:
    """To the millisecond, which is what records carry. Pushes of one millisecond get one and the same object, so that
    its text for the headers is made once."""

    def __init__(self) -> None:
        self._ms = 0
        self._now = datetime.fromtimestamp(0, UTC)

    def __call__(self) -> datetime:
        ms = time.time_ns() // 1_000_000
        if ms != self._ms:
            self._ms = ms
            self._now = datetime.fromtimestamp(ms / 1000, UTC)
        return self._now
