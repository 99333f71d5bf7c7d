"""The composition root: everything that a process of subscription-manager owns, on one page."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg
from fastapi import FastAPI

import mailroom_gmail
import mailroom_outlook
from mailroom_common.auth import APIKeys
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.logs import get_logger
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.providers.ports import ProviderPackage
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import SCHEMA as TOKENS_SCHEMA
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topics import CONNECTION_EVENTS, LIFECYCLE_EVENTS, Topic
from mailroom_common.web import build_service_app, serve_app
from subscription_manager.adapters.flows import PgFlows
from subscription_manager.adapters.kafka import KafkaAnnouncer, connection_events_to, lifecycle_events_to
from subscription_manager.adapters.locks import PgLocks
from subscription_manager.adapters.postgres import SCHEMA, PgConnections
from subscription_manager.api.doc_sources import DocSourceHandlers, doc_source_routes
from subscription_manager.api.oauth_pages import Site, oauth_routes
from subscription_manager.domain.application_access import Reach
from subscription_manager.domain.attention import OurURLs
from subscription_manager.handlers.act_on_lifecycle_event import ActOnLifecycleEvent
from subscription_manager.handlers.change_state import ChangeState
from subscription_manager.handlers.connect_mailbox import ConnectMailbox
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.keep_subscription import KeepSubscription
from subscription_manager.handlers.make_doc_source import MakeDocSource, Timings
from subscription_manager.handlers.record_connection_event import RecordConnectionEvent
from subscription_manager.handlers.repeat_doc_sources import RepeatDocSources
from subscription_manager.handlers.run_keeper import RunBackstop, RunKeeper
from subscription_manager.settings import Settings

log = get_logger()

Clock = Callable[[], datetime]

PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open while the service runs."""

    pool: asyncpg.Pool
    tokens: TokenStore
    keys: SealingKeys
    providers: Providers


async def run(settings: Settings, process: Process, *, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    api_keys = APIKeys.parse_keys(settings.api_keys.get_secret_value())
    async with AsyncExitStack() as stack:
        opened = await _open(settings, providers, stack)
        await Service(settings, process, opened, api_keys, utc_now).run()


async def _open(settings: Settings, packages: Sequence[ProviderPackage], stack: AsyncExitStack) -> Opened:
    keys = SealingKeys.parse(settings.token_keys.get_secret_value())
    pool = await stack.enter_async_context(
        open_pool(settings.database_url, application_name="subscription-manager", max_size=settings.database_pool_size)
    )
    token_pool = pool
    if settings.token_database_url != settings.database_url:
        token_pool = await stack.enter_async_context(
            open_pool(settings.token_database_url, application_name="subscription-manager-tokens", max_size=4)
        )
    await require_current_schema(pool, SCHEMA)
    await require_current_schema(token_pool, TOKENS_SCHEMA)
    tokens = TokenStore(token_pool, keys, url=settings.token_database_url)
    providers = await stack.enter_async_context(open_providers(packages, settings, tokens))
    return Opened(pool, tokens, keys, providers)


class Service:
    """The parts of the process and how they are joined."""

    def __init__(self, settings: Settings, process: Process, opened: Opened, api_keys: APIKeys, clock: Clock) -> None:
        self._settings = settings
        self._process = process
        self._opened = opened
        self._api_keys = api_keys
        self._clock = clock
        self._wake = asyncio.Event()
        self._timings = Timings(
            backstop_interval=timedelta(seconds=settings.backstop_interval_s),
            start_margin=timedelta(seconds=settings.start_margin_s),
            ticket_lifetime=timedelta(seconds=settings.ticket_lifetime_s),
            flow_lifetime=timedelta(seconds=settings.flow_lifetime_s),
        )
        self._urls = OurURLs(
            f"{settings.public_url}/webhooks/outlook", f"{settings.public_url}/webhooks/outlook/lifecycle"
        )
        self._codec = Codec()
        self._connections = PgConnections(opened.pool, Outbox(SCHEMA, self._codec), clock)
        self._flows = PgFlows(opened.pool)
        self._locks = PgLocks(settings.database_url, opened.tokens)

    async def run(self) -> None:
        """The pages and the API need Postgres only, and are there while Kafka is away: what they publish waits in the
        outbox."""
        reached = asyncio.Event()
        self._process.health.add_readiness(
            "kafka", lambda: None if reached.is_set() else "Kafka has not been reached yet"
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._serve())
            kafka = tasks.create_task(self._run_on_kafka(reached))
            await self._process.stopping.wait()
            if not reached.is_set():
                kafka.cancel()  # it waits for a cluster that is away, and has nothing in hand

    async def _run_on_kafka(self, reached: asyncio.Event) -> None:
        stopping = self._process.stopping
        schemas = SchemaDirectory(self._settings, self._codec, client_id="subscription-manager")
        directory = DocSourceDirectory(self._settings, self._codec, schemas=schemas, client_id="subscription-manager")
        self._process.health.add_readiness("directory", directory.check_readiness)
        async with EventProducer(self._settings, self._codec, client_id="subscription-manager") as producer:
            reached.set()
            consumers = self._consumers(schemas, producer)
            for topic, consumer in consumers.items():
                self._process.health.add_readiness(topic.name, consumer.check_readiness)
            relay = OutboxRelay(self._settings.database_url, SCHEMA, producer)
            await self._connections.look_at_misdirected(
                self._clock(), notification_url=self._urls.notification, lifecycle_url=self._urls.lifecycle
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(schemas.load_and_follow(stopping))
                tasks.create_task(self._follow_own_topic(directory))
                for consumer in consumers.values():
                    tasks.create_task(consumer.consume_records(stopping))
                tasks.create_task(relay.run_relay(stopping))
                tasks.create_task(self._keeper(producer).run(stopping))
                tasks.create_task(self._backstop().run(stopping))

    async def _serve(self) -> None:
        await serve_app(
            self.web(), host=self._settings.http_host, port=self._settings.http_port, stopping=self._process.stopping
        )

    def web(self) -> FastAPI:
        app = build_service_app(self._process, title="Mailroom subscription-manager")
        make = MakeDocSource(
            self._connections,
            self._flows,
            self._reach(),
            self._opened.providers.missing_settings,
            self._timings,
            self._wake,
            self._clock,
        )
        change = ChangeState(self._connections, self._opened.tokens, self._timings, self._wake, self._clock)
        handlers = DocSourceHandlers(self._connections, make, change, self._settings.public_url)
        app.include_router(doc_source_routes(handlers, self._api_keys))
        app.include_router(oauth_routes(self._connect_mailbox(), self._site()))
        return app

    def _connect_mailbox(self) -> ConnectMailbox:
        return ConnectMailbox(
            self._connections,
            self._flows,
            self._opened.tokens,
            self._locks,
            self._opened.providers.consent,
            self._opened.keys,
            self._settings.public_url,
            self._timings,
            self._wake,
            self._clock,
        )

    def _site(self) -> Site:
        return Site(
            self._settings.public_url,
            {name: consent.page_origin for name, consent in self._opened.providers.consent.items()},
            round(self._settings.flow_lifetime_s),
        )

    def _keeper(self, producer: EventProducer) -> RunKeeper:
        providers = self._opened.providers
        end = EndConnection(
            self._connections, self._locks, providers.push, providers.consent, self._opened.tokens, self._clock
        )
        announcer = KafkaAnnouncer(producer, self._clock)
        keep = KeepSubscription(self._connections, self._locks, providers.push, announcer, end, self._urls, self._clock)
        return RunKeeper(
            self._connections,
            keep.keep,
            wake=self._wake,
            poll_s=self._settings.attention_poll_s,
            at_once=self._settings.concurrent_subscriptions,
            clock=self._clock,
        )

    def _backstop(self) -> RunBackstop:
        return RunBackstop(self._connections, interval=self._timings.backstop_interval, clock=self._clock)

    def _consumers(self, schemas: SchemaDirectory, producer: EventProducer) -> dict[Topic, WindowedConsumer]:
        dead_letters = DeadLetterWriter(producer, "subscription-manager")
        act = ActOnLifecycleEvent(self._connections, self._wake, self._clock)
        record = RecordConnectionEvent(self._connections, self._clock)
        read = {LIFECYCLE_EVENTS: lifecycle_events_to(act.act), CONNECTION_EVENTS: connection_events_to(record.record)}
        return {
            topic: WindowedConsumer(
                self._settings,
                group=f"mailroom.subscription-manager.{topic.name}",
                topics=[topic],
                handle=handle,
                codec=self._codec,
                schemas=schemas,
                dead_letters=dead_letters,
                max_concurrent=8,
            )
            for topic, handle in read.items()
        }

    async def _follow_own_topic(self, directory: DocSourceDirectory) -> None:
        await directory.load_sources()
        repeated = await RepeatDocSources(self._connections, directory).repeat()
        log.info("own_topic_read", doc_sources=len(directory), repeated=repeated)
        await directory.follow_topic(self._process.stopping)

    def _reach(self) -> dict[str, Reach]:
        return {
            tenant: Reach(reach.provider_tenants, reach.domains) for tenant, reach in self._settings.tenants.items()
        }
