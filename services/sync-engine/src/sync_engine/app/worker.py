"""Composition of `python -m sync_engine worker`: owns partitions of `sync-requests` and syncs their mailboxes."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg

import mailroom_gmail
import mailroom_outlook
from mailroom_common.blobs import BlobStore, find_blob_folder, open_blob_store
from mailroom_common.budgets.store import SCHEMA as QUOTA_SCHEMA
from mailroom_common.budgets.store import PgBudgets
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.parser.confined_pool import open_confined_pool
from mailroom_common.parser.scratch_folder import open_scratch_folder
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.provider_clients import open_providers
from mailroom_common.providers.ports import MailReader, ProviderPackage
from mailroom_common.providers.types import Mailbox
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topic_access import RESULT_RECORDER_GROUP, SYNC_WORKER_GROUP
from mailroom_common.topics import INGESTION_RESULTS, SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL
from mailroom_common.web import build_service_app, serve_service_app
from sync_engine.adapters.connection_events import PgConnectionEvents
from sync_engine.adapters.folding_consumer import FoldingConsumer
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.open_messages import PgOpenMessages
from sync_engine.adapters.parser_containers import READER_MODULES, READER_REASONS, ParserContainers
from sync_engine.adapters.repositories import open_repositories
from sync_engine.adapters.sync_requests_topic import KafkaRequestLog
from sync_engine.adapters.uploads import Housekeeping
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.answer_claims import AnswerClaims
from sync_engine.handlers.apply_source_states import ApplySourceStates
from sync_engine.handlers.record_results import RecordResults
from sync_engine.handlers.reemit_attachments import ReemitAttachments
from sync_engine.handlers.renew_claims import RenewClaims
from sync_engine.handlers.report_parked import ParkedReporter
from sync_engine.handlers.request_partitions import RequestPartitions
from sync_engine.handlers.run_sync import RunSync
from sync_engine.handlers.work_sync_requests import SyncRequestWorker
from sync_engine.ports import ContainerOpener, MessageResults, Repositories
from sync_engine.settings import WorkerSettings

SCHEMA = "sync_engine"
PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
_HOUSEKEEPING_INTERVAL_S = 3600.0
_REEMISSION_INTERVAL_S = 600.0
_utc_now = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kafka:
    """What the parts of this process share of Kafka."""

    codec: Codec
    producer: EventProducer
    dead_letters: DeadLetterWriter
    schemas: SchemaDirectory
    directory: DocSourceDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Storage:
    pool: asyncpg.Pool
    outbox: Outbox
    ingestion_states: PgIngestionStates
    results: MessageResults
    repositories: Repositories
    blobs: BlobStore


async def run(settings: WorkerSettings, process: Process, *, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    """
    sync-requests ──▶ work tables ──▶ runs ◀──▶ provider      ingestion-results ──▶ closed messages
                                       ├──▶ blobs
                                       └──▶ Postgres, one transaction per batch ──▶ outbox ──▶ attachments, mail-events,
                                                                                               connection-events
    """
    started = asyncio.Event()
    process.health.add_readiness("start", lambda: None if started.is_set() else "Kafka or Postgres is not reached yet")
    web = build_service_app(process, title="Mailroom sync-engine: worker")
    async with asyncio.TaskGroup() as serving, AsyncExitStack() as stack:
        # Health is served first: a start that waits for Kafka or Postgres shows what it waits for.
        serving.create_task(serve_service_app(web, settings, process))
        pool = await stack.enter_async_context(
            open_pool(settings.database_url, application_name=process.name, max_size=settings.database_pool_size)
        )
        await require_current_schema(pool, SCHEMA)
        kafka = await _open_kafka(settings, process, stack)
        storage = await _open_storage(settings, pool, Outbox(SCHEMA, kafka.codec), stack)
        containers = await _open_containers(settings, process, stack)
        apply_states = ApplySourceStates(storage.repositories.states, storage.repositories.deletions)
        # Before the directory is loaded, so that it hears of pauses and deletions from while no worker ran.
        kafka.directory.on_change(apply_states.on_source_change)
        await kafka.schemas.load_schemas()
        await kafka.directory.load_sources()
        mail = await _open_mail_readers(settings, process, stack, kafka.directory, providers)
        partitions = RequestPartitions()
        worker = _build_worker(settings, partitions, kafka, storage, mail, containers)
        requests, results = _build_consumers(settings, process, partitions, kafka, storage)

        # Reading goes on while the last runs end: their answers and what the outbox holds still have to go out.
        drained = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(kafka.schemas.follow_topic(drained))
            tasks.create_task(kafka.directory.follow_topic(drained))
            tasks.create_task(requests.consume_records(drained))
            tasks.create_task(OutboxRelay(settings.database_url, SCHEMA, kafka.producer).run_relay(drained))
            tasks.create_task(results.consume_records(process.stopping))
            retention = timedelta(days=settings.mail_event_days)
            housekeeping = Housekeeping(pool, storage.blobs, _utc_now, mail_event_retention=retention)
            tasks.create_task(housekeeping.sweep_repeatedly(process.stopping, interval_s=_HOUSEKEEPING_INTERVAL_S))
            reemission = _build_reemission(settings, kafka, storage)
            tasks.create_task(reemission.reemit_repeatedly(process.stopping, interval_s=_REEMISSION_INTERVAL_S))
            renewal = RenewClaims(storage.ingestion_states, stuck_timeout_s=settings.state_stuck_timeout_s)
            tasks.create_task(renewal.renew_repeatedly(process.stopping))
            tasks.create_task(ParkedReporter(storage.repositories.parked_items).run_reports(process.stopping))
            applying = tasks.create_task(apply_states.apply_changes())
            started.set()
            await worker.run_worker(process.stopping, grace_s=settings.stop_grace_s)
            applying.cancel()
            drained.set()


async def _open_storage(
    settings: WorkerSettings, pool: asyncpg.Pool, outbox: Outbox, stack: AsyncExitStack
) -> _Storage:
    ingestion_states = PgIngestionStates(
        pool,
        app_name=settings.state_app_name,
        stuck_timeout=timedelta(seconds=settings.state_stuck_timeout_s),
    )
    return _Storage(
        pool=pool,
        outbox=outbox,
        ingestion_states=ingestion_states,
        results=PgMessages(pool, ingestion_states),
        repositories=open_repositories(pool, outbox, _utc_now, ingestion_states),
        blobs=await stack.enter_async_context(open_blob_store(settings)),
    )


async def _open_kafka(settings: WorkerSettings, process: Process, stack: AsyncExitStack) -> _Kafka:
    codec = Codec()
    producer = await stack.enter_async_context(EventProducer(settings, codec, client_id=process.name))
    schemas = SchemaDirectory(settings, codec)
    stack.push_async_callback(schemas.close)
    directory = DocSourceDirectory(settings, codec, schemas=schemas)
    stack.push_async_callback(directory.close)
    process.health.add_readiness("doc-sources", directory.check_readiness)
    dead_letters = DeadLetterWriter(producer, process.name)
    return _Kafka(codec=codec, producer=producer, dead_letters=dead_letters, schemas=schemas, directory=directory)


async def _open_mail_readers(
    settings: WorkerSettings,
    process: Process,
    stack: AsyncExitStack,
    directory: DocSourceDirectory,
    providers: Sequence[ProviderPackage],
) -> Mapping[str, MailReader]:
    """By the provider's name; one that is not set up is missing."""
    # Tokens have a pool of their own: a refresh holds a row lock while the provider answers, and pages must not wait.
    pool = await stack.enter_async_context(
        open_pool(settings.token_database_url, application_name=f"{process.name}-tokens", max_size=4)
    )
    keys = SealingKeys.parse_keys(settings.token_keys.get_secret_value())
    tokens = TokenStore(pool, keys, url=settings.token_database_url)

    def count_sharers(mailbox: Mailbox) -> int:
        return directory.count_active_sources(mailbox.provider, mailbox.address)

    # And so have the budgets of calls: neither a refresh nor a page holds up what every call may need.
    quota_pool = await stack.enter_async_context(
        open_pool(settings.token_database_url, application_name=f"{process.name}-quota", max_size=2)
    )
    await require_current_schema(quota_pool, QUOTA_SCHEMA)
    opened = await stack.enter_async_context(
        open_providers(providers, settings, tokens, budgets=PgBudgets(quota_pool), count_sharers=count_sharers)
    )
    return opened.mail


async def _open_containers(settings: WorkerSettings, process: Process, stack: AsyncExitStack) -> ParserContainers:
    scratch = stack.enter_context(open_scratch_folder(Path(tempfile.gettempdir())))
    pool = await stack.enter_async_context(
        open_confined_pool(
            settings,
            process,
            blobs=find_blob_folder(settings),
            scratch=scratch,
            readers=READER_MODULES,
            reasons=READER_REASONS,
        )
    )
    return ParserContainers(pool, scratch)


def _build_worker(
    settings: WorkerSettings,
    partitions: RequestPartitions,
    kafka: _Kafka,
    storage: _Storage,
    mail: Mapping[str, MailReader],
    containers: ContainerOpener,
) -> SyncRequestWorker:
    answers = AnswerClaims(
        runs=RunSync(
            providers=mail,
            repositories=storage.repositories,
            blobs=storage.blobs,
            containers=containers,
            clock=_utc_now,
            state_id_form=settings.state_id_form,
            timings=SyncTimings(backstop_interval=timedelta(seconds=settings.backstop_interval_s)),
        ),
        states=storage.repositories.states,
        sources=kafka.directory,
        connections=PgConnectionEvents(storage.pool, storage.outbox, _utc_now),
        clock=_utc_now,
    )
    return SyncRequestWorker(
        partitions=partitions,
        answers=answers,
        states=storage.repositories.states,
        requests=KafkaRequestLog(kafka.producer),
        clock=_utc_now,
        max_concurrent=settings.max_concurrent_syncs,
    )


def _build_reemission(settings: WorkerSettings, kafka: _Kafka, storage: _Storage) -> ReemitAttachments:
    messages = PgOpenMessages(storage.pool, storage.outbox)
    return ReemitAttachments(messages, kafka.directory, _utc_now, after=timedelta(seconds=settings.reemit_after_s))


def _build_consumers(
    settings: WorkerSettings, process: Process, partitions: RequestPartitions, kafka: _Kafka, storage: _Storage
) -> tuple[FoldingConsumer, WindowedConsumer]:
    requests = FoldingConsumer(
        settings,
        group=SYNC_WORKER_GROUP,
        topics=(SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
        open_fold=partitions.open_partition,
        close_fold=partitions.close_partition,
        codec=kafka.codec,
        schemas=kafka.schemas,
        dead_letters=kafka.dead_letters,
    )
    results = WindowedConsumer(
        settings,
        group=RESULT_RECORDER_GROUP,
        topics=(INGESTION_RESULTS,),
        handle=RecordResults(storage.results).handle_record,
        codec=kafka.codec,
        schemas=kafka.schemas,
        dead_letters=kafka.dead_letters,
        max_concurrent=4,
    )
    process.health.add_readiness("sync-requests", requests.check_readiness)
    process.health.add_readiness("ingestion-results", results.check_readiness)
    return requests, results
