"""Composition of `python -m sync_engine worker`: owns partitions of `sync-requests` and syncs their mailboxes."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial

import mailroom_gmail
import mailroom_outlook
from mailroom_common.blobs import open_blob_store
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.provider_clients import open_providers
from mailroom_common.providers.ports import ProviderPackage
from mailroom_common.providers.types import Mailbox
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topics import INGESTION_RESULTS, SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL
from mailroom_common.web import build_service_app, serve_app
from sync_engine.adapters.connection_events import PgConnectionEvents
from sync_engine.adapters.folding_consumer import FoldingConsumer
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.repositories import open_repositories
from sync_engine.adapters.sync_requests_topic import KafkaRequestLog
from sync_engine.adapters.uploads import Housekeeping
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.answer_claims import AnswerClaims
from sync_engine.handlers.apply_source_states import ApplySourceStates
from sync_engine.handlers.record_results import RecordResults
from sync_engine.handlers.request_partitions import RequestPartitions
from sync_engine.handlers.run_sync import RunSync
from sync_engine.handlers.work_sync_requests import SyncRequestWorker
from sync_engine.settings import WorkerSettings

SCHEMA = "sync_engine"
PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
_HOUSEKEEPING_INTERVAL_S = 3600.0
_utc_now = partial(datetime.now, UTC)


async def run(settings: WorkerSettings, process: Process, *, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    """
    sync-requests ──▶ work tables ──▶ runs ◀──▶ provider       ingestion-results ──▶ closed messages
                                       ├──▶ blobs
                                       └──▶ Postgres, one transaction per page ──▶ outbox ──▶ attachments, mail-events,
                                                                                              connection-events
    """
    codec = Codec()
    started = asyncio.Event()
    process.health.add_readiness("start", lambda: None if started.is_set() else "Kafka or Postgres is not reached yet")
    web = build_service_app(process, title="Mailroom sync-engine: worker")
    async with asyncio.TaskGroup() as serving, AsyncExitStack() as stack:
        serving.create_task(serve_app(web, host=settings.http_host, port=settings.http_port, stopping=process.stopping))
        pool = await stack.enter_async_context(
            open_pool(settings.database_url, application_name=process.name, max_size=settings.database_pool_size)
        )
        await require_current_schema(pool, SCHEMA)
        token_pool = await stack.enter_async_context(
            open_pool(settings.token_database_url, application_name=f"{process.name}-tokens", max_size=4)
        )
        tokens = TokenStore(
            token_pool, SealingKeys.parse_keys(settings.token_keys.get_secret_value()), url=settings.token_database_url
        )
        blobs = await stack.enter_async_context(open_blob_store(settings))
        producer = await stack.enter_async_context(EventProducer(settings, codec, client_id=process.name))
        dead_letters = DeadLetterWriter(producer, process.name)
        outbox = Outbox(SCHEMA, codec)
        repositories = open_repositories(pool, outbox, _utc_now)

        schemas = SchemaDirectory(settings, codec)
        stack.push_async_callback(schemas.close)
        directory = DocSourceDirectory(settings, codec, schemas=schemas)
        stack.push_async_callback(directory.close)
        process.health.add_readiness("doc-sources", directory.check_readiness)
        apply_states = ApplySourceStates(repositories.states)
        directory.on_change(apply_states.on_source_change)
        await schemas.load_schemas()
        await directory.load_sources()

        def count_sharers(mailbox: Mailbox) -> int:
            return len(directory.find_by_address(mailbox.provider, mailbox.address))

        opened = await stack.enter_async_context(
            open_providers(providers, settings, tokens, count_sharers=count_sharers)
        )
        partitions = RequestPartitions()
        answers = AnswerClaims(
            runs=RunSync(
                providers=opened.mail,
                repositories=repositories,
                blobs=blobs,
                clock=_utc_now,
                timings=SyncTimings(backstop_interval=timedelta(seconds=settings.backstop_interval_s)),
            ),
            states=repositories.states,
            sources=directory,
            connections=PgConnectionEvents(pool, outbox, _utc_now),
            clock=_utc_now,
        )
        worker = SyncRequestWorker(
            partitions=partitions,
            answers=answers,
            states=repositories.states,
            requests=KafkaRequestLog(producer),
            clock=_utc_now,
            max_concurrent=settings.max_concurrent_syncs,
        )
        requests = FoldingConsumer(
            settings,
            group="mailroom.sync-engine.worker",
            topics=(SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
            open_fold=partitions.open_partition,
            close_fold=partitions.close_partition,
            codec=codec,
            schemas=schemas,
            dead_letters=dead_letters,
        )
        results = WindowedConsumer(
            settings,
            group="mailroom.sync-engine.recorder",
            topics=(INGESTION_RESULTS,),
            handle=RecordResults(PgMessages(pool)).handle_record,
            codec=codec,
            schemas=schemas,
            dead_letters=dead_letters,
            max_concurrent=4,
        )
        process.health.add_readiness("sync-requests", requests.check_readiness)
        process.health.add_readiness("ingestion-results", results.check_readiness)

        # Reading goes on while the last runs end: their answers and what the outbox holds still have to go out.
        drained = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(schemas.follow_topic(drained))
            tasks.create_task(directory.follow_topic(drained))
            tasks.create_task(requests.consume_records(drained))
            tasks.create_task(OutboxRelay(settings.database_url, SCHEMA, producer).run_relay(drained))
            tasks.create_task(results.consume_records(process.stopping))
            housekeeping = Housekeeping(pool, blobs, _utc_now)
            tasks.create_task(housekeeping.sweep_repeatedly(process.stopping, interval_s=_HOUSEKEEPING_INTERVAL_S))
            applying = tasks.create_task(apply_states.apply_changes())
            started.set()
            await worker.run_worker(process.stopping, grace_s=settings.stop_grace_s)
            applying.cancel()
            drained.set()
