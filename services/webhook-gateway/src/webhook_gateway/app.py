"""Composition root: everything that the process owns, on one page."""

import asyncio
import gc
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
from mailroom_common.web import build_service_app, serve_service_app
from webhook_gateway.adapters.doc_source_lookup import BoundedDocSourceLookup
from webhook_gateway.adapters.event_writer import GroupCommitWriter
from webhook_gateway.adapters.google_public_keys import GooglePublicKeys
from webhook_gateway.adapters.pubsub_authenticator import GoogleTokenVerifier, PubSubAuthenticator
from webhook_gateway.api.http import Dispatcher
from webhook_gateway.api.pubsub_pull import PulledMessages
from webhook_gateway.api.webhooks import WebhookRoutes
from webhook_gateway.handlers.receive_gmail_push import GmailPushReceiver
from webhook_gateway.handlers.receive_graph_push import GraphPushReceiver
from webhook_gateway.settings import Settings, parse_networks

log = get_logger()


async def run(settings: Settings, process: Process) -> None:
    warn_of_unchecked_subscription(settings)
    codec = Codec()
    schemas = SchemaDirectory(settings, codec, client_id="webhook-gateway-schemas")
    directory = DocSourceDirectory(
        settings, codec, schemas=schemas, client_id="webhook-gateway-directory", keeps_filters=False
    )
    producer = EventProducer(settings, codec, client_id="webhook-gateway")
    writer = GroupCommitWriter(producer)
    started = asyncio.Event()

    def check_readiness() -> str | None:
        # A Kafka that goes away later does not make the gateway unready: it still has the right response, a 503.
        return None if started.is_set() else "doc-sources is not read to its end yet"

    async def start_and_follow_topics() -> None:
        await producer.__aenter__()
        await writer.learn_partitions(NOTIFICATIONS, LIFECYCLE_EVENTS)
        await schemas.load_schemas()
        await directory.load_sources()
        freeze_heap()
        await prepare_for_first_push(settings, producer, keys)
        started.set()
        log.info("gateway_ready", sources=len(directory))
        async with asyncio.TaskGroup() as followers:
            followers.create_task(schemas.follow_topic(process.stopping))
            followers.create_task(directory.follow_topic(process.stopping))

    process.health.add_readiness("start", check_readiness)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(producer.close)
        http = await stack.enter_async_context(open_client(settings, timeout_s=5.0))
        keys = GooglePublicKeys(http, settings.google_certs_url)
        sources = BoundedDocSourceLookup(
            directory, catch_up_timeout_s=settings.catch_up_timeout_s, max_catch_ups=settings.max_catch_ups
        )
        gmail = GmailPushReceiver(sources, writer, read_clock)
        routes = WebhookRoutes(
            GraphPushReceiver(sources, writer, read_clock),
            gmail,
            build_authenticator(settings, keys),
            check_readiness=check_readiness,
            subscription=settings.pubsub_subscription,
            trusted_proxies=parse_networks(settings.trusted_proxies),
            max_body_bytes=settings.max_body_bytes,
            push_timeout_s=settings.push_timeout_s,
        )
        app = Dispatcher(routes.build_endpoints(), build_service_app(process, title="Mailroom webhook gateway"))
        async with asyncio.TaskGroup() as tasks:
            # The server answers while the directory is loaded: handshakes at once, pushes with 503.
            background = [tasks.create_task(start_and_follow_topics())]
            if settings.pubsub_audience is not None:
                background.append(tasks.create_task(keys.refresh_keys()))
            if settings.pubsub_pull:
                background.append(tasks.create_task(pull_notifications(settings, gmail, started)))
            # Returns once the last request in flight has its response; only then may the producer be closed.
            await serve_service_app(app, settings, process)
            for task in background:
                task.cancel()


async def prepare_for_first_push(settings: Settings, producer: EventProducer, keys: GooglePublicKeys) -> None:
    """What the first pushes would otherwise wait for. Without it the gateway is ready all the same, and answers 503."""
    await producer.connect_to_brokers(timeout_s=5.0)
    if settings.pubsub_audience is not None:
        await keys.wait_for_fetch(5.0)


async def pull_notifications(settings: Settings, gmail: GmailPushReceiver, started: asyncio.Event) -> None:
    """Runs until it is cancelled; what is unacknowledged then is delivered to another process."""
    # Google's client and gRPC take a second to import and 60 MB, which a gateway that is pushed to does not need.
    from webhook_gateway.adapters.pubsub_subscriber import PubSubSubscriber, open_subscriber

    subscription = settings.pubsub_subscription or ""
    messages = PulledMessages(gmail, subscription=subscription, attempt_timeout_s=settings.push_timeout_s)
    subscriber = PubSubSubscriber(
        lambda: open_subscriber(settings),
        messages.receive_message,
        subscription=subscription,
        max_messages=settings.pubsub_pull_messages,
    )
    await started.wait()
    await subscriber.pull_messages()


def warn_of_unchecked_subscription(settings: Settings) -> None:
    """Without a path to compare with, a push with the right token is accepted from any Pub/Sub subscription."""
    accepts_gmail_pushes = settings.pubsub_token is not None or settings.pubsub_audience is not None
    if accepts_gmail_pushes and settings.pubsub_subscription is None:
        # A push with the right token is accepted whichever Pub/Sub subscription sent it.
        log.warning("pubsub_subscription_unchecked", setting="MAILROOM_PUBSUB_SUBSCRIPTION")


def freeze_heap() -> None:
    """The directory is most of the heap and lives as long as the process. Collections of it caused the slowest
    responses: without them p99 fell from 50 to 23 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def build_authenticator(settings: Settings, keys: GooglePublicKeys) -> PubSubAuthenticator:
    token, audience, account = settings.pubsub_token, settings.pubsub_audience, settings.pubsub_service_account
    return PubSubAuthenticator(
        static_token=None if token is None else token.get_secret_value(),
        token_verifier=None if audience is None or account is None else GoogleTokenVerifier(keys, audience, account),
    )


def read_clock() -> datetime:
    return datetime.now(UTC)
