"""The composition root: everything that a process of subscription-manager owns, on one page."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fastapi import FastAPI

import mailroom_gmail
import mailroom_outlook
from mailroom_common.auth import APIKeys
from mailroom_common.budgets.store import SCHEMA as QUOTA_SCHEMA
from mailroom_common.budgets.store import PgBudgets
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.logs import get_logger
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.postgres import INVALID_VALUE_ERRORS, open_pool
from mailroom_common.process import Process
from mailroom_common.provider_clients import Providers, open_providers
from mailroom_common.providers.ports import ProviderPackage
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import SCHEMA as TOKENS_SCHEMA
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topic_access import subscription_manager_group
from mailroom_common.topics import CONNECTION_EVENTS, LIFECYCLE_EVENTS
from mailroom_common.web import build_service_app, serve_service_app
from subscription_manager.adapters.connection_store import SCHEMA, PgConnectionLocks, PgConnectionStore
from subscription_manager.adapters.consent_flows import PgConsentFlowStore
from subscription_manager.adapters.kafka import (
    KafkaDocSourcePublisher,
    handle_connection_records,
    handle_lifecycle_records,
)
from subscription_manager.api.doc_sources import DocSourceHandlers, build_doc_source_routes
from subscription_manager.api.oauth_pages import ConsentPageSettings, ConsentProvider, build_oauth_routes
from subscription_manager.domain.application_access import ApplicationAccessPolicy
from subscription_manager.domain.subscription_schedule import build_webhook_urls
from subscription_manager.handlers.advance_subscription import AdvanceSubscription
from subscription_manager.handlers.change_connection_state import ChangeConnectionState
from subscription_manager.handlers.connect_mailbox import ConnectMailbox
from subscription_manager.handlers.consent_outcomes import ConsentOutcomes
from subscription_manager.handlers.create_doc_source import ConnectionDurations, CreateDocSource
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.expire_pending import PendingExpirer
from subscription_manager.handlers.handle_lifecycle_event import HandleLifecycleEvent
from subscription_manager.handlers.maintain_shared_subscription import SharedSubscriptionMaintainer
from subscription_manager.handlers.maintain_source_subscription import SourceSubscriptionMaintainer
from subscription_manager.handlers.record_connection_event import RecordConnectionEvent
from subscription_manager.handlers.relist_doc_source import RelistDocSource
from subscription_manager.handlers.repair_doc_sources import DocSourceRepairer
from subscription_manager.handlers.report_expiries import ExpiryReporter
from subscription_manager.handlers.republish_doc_sources import RepublishDocSources
from subscription_manager.handlers.request_backstops import BackstopScheduler
from subscription_manager.handlers.subscription_reconciler import SubscriptionReconciler
from subscription_manager.ports import SubscriptionMaintainer
from subscription_manager.settings import Settings

log = get_logger()

PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the web application and the Kafka side of the process share."""

    settings: Settings
    api_keys: APIKeys
    keys: SealingKeys
    tokens: TokenStore
    providers: Providers
    connections: PgConnectionStore
    flows: PgConsentFlowStore
    locks: PgConnectionLocks
    codec: Codec
    durations: ConnectionDurations
    wake: asyncio.Event
    clock: Callable[[], datetime]


async def run(settings: Settings, process: Process, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    """Pages and API need Postgres only, and are there while Kafka is away: what they publish waits in the outbox."""
    async with AsyncExitStack() as stack:
        parts = await _open_parts(settings, providers, stack)
        kafka_connected = asyncio.Event()
        process.health.add_readiness(
            "kafka", lambda: None if kafka_connected.is_set() else "Kafka has not been reached yet"
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve_service_app(_build_web_app(parts, process), settings, process))
            kafka_side = tasks.create_task(_run_kafka_side(parts, process, kafka_connected))
            await process.stopping.wait()
            if not kafka_connected.is_set():
                kafka_side.cancel()  # it waits for a cluster that is away, and has no work in hand


async def _open_parts(settings: Settings, packages: Sequence[ProviderPackage], stack: AsyncExitStack) -> Parts:
    # Keys are checked before anything is opened: a wrong one ends the process with its setting's name.
    api_keys = APIKeys.parse_keys(settings.api_keys.get_secret_value())
    keys = SealingKeys.parse_keys(settings.token_keys.get_secret_value())
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
    # Of its own: every call needs it, and a refresh holds a connection of the tokens while the provider answers.
    quota_pool = await stack.enter_async_context(
        open_pool(settings.token_database_url, application_name="subscription-manager-quota", max_size=2)
    )
    await require_current_schema(quota_pool, QUOTA_SCHEMA)
    tokens = TokenStore(token_pool, keys, url=settings.token_database_url)
    codec = Codec()
    return Parts(
        settings=settings,
        api_keys=api_keys,
        keys=keys,
        tokens=tokens,
        providers=await stack.enter_async_context(
            open_providers(packages, settings, tokens, budgets=PgBudgets(quota_pool))
        ),
        connections=PgConnectionStore(pool, Outbox(SCHEMA, codec), _utc_now),
        flows=PgConsentFlowStore(pool),
        locks=PgConnectionLocks(settings.database_url, tokens),
        codec=codec,
        durations=ConnectionDurations(
            backstop_interval=timedelta(seconds=settings.backstop_interval_s),
            start_margin=timedelta(seconds=settings.start_margin_s),
            ticket_lifetime=timedelta(seconds=settings.ticket_lifetime_s),
            flow_lifetime=timedelta(seconds=settings.flow_lifetime_s),
        ),
        wake=asyncio.Event(),
        clock=_utc_now,
    )


def _build_web_app(parts: Parts, process: Process) -> FastAPI:
    settings, providers = parts.settings, parts.providers
    create = CreateDocSource(
        parts.connections,
        parts.flows,
        {
            tenant: ApplicationAccessPolicy(reach.provider_tenants, reach.domains)
            for tenant, reach in settings.tenants.items()
        },
        providers.traits,
        providers.mail,
        providers.missing_settings,
        parts.durations,
        parts.wake,
        parts.clock,
        max_pending_sources=settings.max_pending_sources,
    )
    change = _build_state_changes(parts)
    connect = ConnectMailbox(
        parts.connections,
        parts.flows,
        parts.tokens,
        parts.locks,
        providers.consent,
        parts.keys,
        ConsentOutcomes(parts.flows, parts.keys),
        settings.public_url,
        parts.durations,
        parts.wake,
        parts.clock,
    )
    app = build_service_app(process, title="Mailroom subscription-manager", invalid_value_errors=INVALID_VALUE_ERRORS)
    handlers = DocSourceHandlers(
        parts.connections, create, change, RelistDocSource(parts.connections, parts.clock), settings.public_url
    )
    app.include_router(build_doc_source_routes(handlers, parts.api_keys))
    app.include_router(build_oauth_routes(connect, _consent_page_settings(parts)))
    return app


def _consent_page_settings(parts: Parts) -> ConsentPageSettings:
    consents = parts.providers.consent
    return ConsentPageSettings(
        parts.settings.public_url,
        {
            name: ConsentProvider(traits.display_name, consents[name].page_origin if name in consents else None)
            for name, traits in parts.providers.traits.items()
        },
        round(parts.settings.flow_lifetime_s),
    )


async def _run_kafka_side(parts: Parts, process: Process, kafka_connected: asyncio.Event) -> None:
    settings, stopping, health = parts.settings, process.stopping, process.health
    schemas = SchemaDirectory(settings, parts.codec, client_id="subscription-manager")
    directory = DocSourceDirectory(settings, parts.codec, schemas=schemas, client_id="subscription-manager")
    health.add_readiness("directory", directory.check_readiness)
    async with EventProducer(settings, parts.codec, client_id="subscription-manager") as producer:
        kafka_connected.set()
        consumers = _build_consumers(parts, schemas, producer)
        for topic_name, consumer in consumers.items():
            health.add_readiness(topic_name, consumer.check_readiness)
        # Before the reconciler: a subscription that calls another URL is recreated at the start and not a day later.
        await _schedule_checks_of_misdirected(parts)
        relay = OutboxRelay(settings.database_url, SCHEMA, producer)
        reconciler = _build_reconciler(parts, producer)
        backstops = BackstopScheduler(parts.connections, interval=parts.durations.backstop_interval, clock=parts.clock)
        # Whichever fails ends the group, and with it the process: none of them may be missing silently.
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(schemas.load_and_follow(stopping))
            versions_agree = asyncio.Event()
            tasks.create_task(_follow_own_topic(parts, directory, versions_agree, stopping))
            for consumer in consumers.values():
                tasks.create_task(run_once_versions_agree(consumer.consume_records, versions_agree, stopping))
            tasks.create_task(relay.run_relay(stopping))
            tasks.create_task(reconciler.run_reconciler(stopping))
            tasks.create_task(backstops.run_backstops(stopping))
            # A restored table shows mailboxes as pending that the topic knows at work: they are told apart first.
            expirer = _build_pending_expirer(parts)
            tasks.create_task(run_once_versions_agree(expirer.run_expiry, versions_agree, stopping))
            tasks.create_task(ExpiryReporter(parts.connections).run_reports(stopping))


def _build_reconciler(parts: Parts, producer: EventProducer) -> SubscriptionReconciler:
    maintainers = _build_maintainers(parts, producer)
    end = EndConnection(parts.connections, parts.locks, maintainers, parts.providers.consent, parts.tokens, parts.clock)
    advance = AdvanceSubscription(
        parts.connections,
        parts.locks,
        parts.providers.traits,
        maintainers,
        end,
        parts.settings.webhook_base_url,
        parts.clock,
    )
    return SubscriptionReconciler(
        parts.connections,
        advance.advance_subscription,
        wake=parts.wake,
        max_pause_s=parts.settings.max_check_pause_s,
        max_concurrent=parts.settings.concurrent_subscriptions,
        clock=parts.clock,
    )


def _build_state_changes(parts: Parts) -> ChangeConnectionState:
    return ChangeConnectionState(parts.connections, parts.tokens, parts.durations, parts.wake, parts.clock)


def _build_pending_expirer(parts: Parts) -> PendingExpirer:
    return PendingExpirer(
        parts.connections,
        _build_state_changes(parts).delete_pending,
        lifetime=timedelta(days=parts.settings.pending_days),
        clock=parts.clock,
    )


def _build_maintainers(parts: Parts, producer: EventProducer) -> dict[str, SubscriptionMaintainer]:
    """By the provider's name; one that can only be polled has none."""
    publisher = KafkaDocSourcePublisher(producer, parts.clock)
    maintainers: dict[str, SubscriptionMaintainer] = {}
    for name, client in parts.providers.push.items():
        push, urls = client.traits.push, build_webhook_urls(parts.settings.webhook_base_url, name)
        if push is None:
            continue
        if push.is_shared_by_account:
            maintainers[name] = SharedSubscriptionMaintainer(
                client, push, parts.connections, parts.locks, urls, parts.clock
            )
        else:
            maintainers[name] = SourceSubscriptionMaintainer(
                client, push, parts.connections, parts.locks, publisher, urls, parts.clock
            )
    return maintainers


def _build_consumers(parts: Parts, schemas: SchemaDirectory, producer: EventProducer) -> dict[str, WindowedConsumer]:
    """By the name of the topic that they read."""
    dead_letters = DeadLetterWriter(producer, "subscription-manager")
    lifecycle = HandleLifecycleEvent(parts.connections, parts.wake, parts.clock)
    connection = RecordConnectionEvent(parts.connections, parts.clock)
    handlers = {
        LIFECYCLE_EVENTS: handle_lifecycle_records(lifecycle.handle_event),
        CONNECTION_EVENTS: handle_connection_records(connection.record_event),
    }
    return {
        topic.name: WindowedConsumer(
            parts.settings,
            group=subscription_manager_group(topic),
            topics=[topic],
            handle=handler,
            codec=parts.codec,
            schemas=schemas,
            dead_letters=dead_letters,
            max_concurrent=8,
        )
        for topic, handler in handlers.items()
    }


async def _schedule_checks_of_misdirected(parts: Parts) -> None:
    """MAILROOM_PUBLIC_URL may be another one since the last start."""
    for name, traits in parts.providers.traits.items():
        if traits.push is not None and traits.push.has_notification_url:
            urls = build_webhook_urls(parts.settings.webhook_base_url, name)
            await parts.connections.schedule_checks_of_misdirected(name, urls, parts.clock())


async def run_once_versions_agree(
    run_loop: Callable[[asyncio.Event], Awaitable[None]], versions_agree: asyncio.Event, stopping: asyncio.Event
) -> None:
    """After a restore events are read again of what the table does not know. Those are told from newer ones by versions
    and generations that the table has only once it was compared with the topic."""
    waits = [asyncio.create_task(event.wait()) for event in (versions_agree, stopping)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    await run_loop(stopping)


async def _follow_own_topic(
    parts: Parts, directory: DocSourceDirectory, versions_agree: asyncio.Event, stopping: asyncio.Event
) -> None:
    await directory.load_sources()
    versions = await RepublishDocSources(parts.connections, parts.tokens, directory, parts.clock).reconcile_with_topic()
    versions_agree.set()
    if versions.lifted or versions.rebuilt:
        parts.wake.set()
    log.info(
        "own_topic_loaded",
        doc_sources=len(directory),
        republished=versions.republished,
        lifted=versions.lifted,
        rebuilt=versions.rebuilt,
    )
    repairer = DocSourceRepairer(parts.connections, directory)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(repairer.run_repairs(stopping))
        tasks.create_task(directory.follow_topic(stopping))


def _utc_now() -> datetime:
    return datetime.now(UTC)
