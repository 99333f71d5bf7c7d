"""The two processes of ingestion, each on one page."""

import asyncio
import logging
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from ingestion.adapters.blobs import StoredDocuments
from ingestion.adapters.channels import NUMBERED, UNNUMBERED, WORK
from ingestion.adapters.document_events import PgDocumentEvents
from ingestion.adapters.documents import PgDocuments
from ingestion.adapters.intakes import PgIntakes
from ingestion.adapters.leases import PgLeases
from ingestion.adapters.local_reading import READERS, LocalReading
from ingestion.adapters.scratch import scratch
from ingestion.adapters.tickets import PgTickets
from ingestion.adapters.wakeups import Wakeups
from ingestion.api.documents import documents_router
from ingestion.api.events import events_router
from ingestion.domain.document import RetryRule
from ingestion.handlers.process_document import ProcessDocument
from ingestion.handlers.take_in import TakeIn
from ingestion.settings import DocumentsAPISettings, WorkerSettings
from ingestion.work import forget_events, number_events, process_documents
from mailroom_common.auth import APIKeys
from mailroom_common.blobs import open_blob_store
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.parser import ParserLimits, ParserPool
from mailroom_common.postgres import INVALID_VALUE_ERRORS, open_pool
from mailroom_common.process import Process
from mailroom_common.settings import DatabaseSettings
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL
from mailroom_common.web import build_service_app, serve_app

SCHEMA = "ingestion"
GROUP = "mailroom.ingestion.intake"


def utc_now() -> datetime:
    return datetime.now(UTC)


async def worker(settings: WorkerSettings, process: Process) -> None:
    """attachments ──▶ intake, document ──claim──▶ transcribe, classify, extract, route, archive ──▶ results"""
    stopping = process.stopping
    web = build_service_app(process, title="Mailroom ingestion: worker")
    starting = _Starting()
    process.health.add_readiness("start", starting.complaint)
    async with AsyncExitStack() as stack:
        pool = await _database(settings, process, stack)
        documents = stack.enter_context(scratch(Path(tempfile.gettempdir())))
        blobs = StoredDocuments(await stack.enter_async_context(open_blob_store(settings)), scratch=documents)
        # From here on Kafka is waited for, and `/readyz` says so.
        serving = await stack.enter_async_context(asyncio.TaskGroup())
        serving.create_task(serve_app(web, host=settings.http_host, port=settings.http_port, stopping=stopping))
        parser = await stack.enter_async_context(_parser(settings))
        # Before the first record: a worker whose parser processes are not confined takes nothing in.
        process.health.set_detail("parser_confinement", await parser.check_confinement())
        codec = Codec()
        producer = await stack.enter_async_context(EventProducer(settings, codec, client_id=process.name))
        schemas = SchemaDirectory(settings, codec)
        stack.push_async_callback(schemas.close)
        await schemas.load_schemas()

        outbox = Outbox(SCHEMA, codec)
        wakeups = Wakeups(settings.database_url, [WORK, UNNUMBERED], application_name=f"{process.name}-wakeups")
        events = PgDocumentEvents(pool)
        leases = PgLeases(pool, outbox, length=timedelta(seconds=settings.document_lease_s), clock=utc_now)
        consumer = WindowedConsumer(
            settings,
            group=GROUP,
            topics=[ATTACHMENTS, ATTACHMENTS_BACKFILL],
            handle=TakeIn(PgIntakes(pool, outbox, utc_now), blobs),
            codec=codec,
            schemas=schemas,
            dead_letters=DeadLetterWriter(producer, process.name),
            max_concurrent=max(1, settings.database_pool_size // 2),
        )
        process.health.add_readiness("kafka", consumer.check_readiness)
        reading = LocalReading(parser)
        process_document = ProcessDocument(
            leases,
            blobs,
            reading,
            reading,
            reading,
            retries=RetryRule(
                settings.document_attempts,
                timedelta(seconds=settings.document_pause_s),
                timedelta(seconds=settings.document_longest_pause_s),
            ),
            renew_every_s=settings.document_lease_s / 4,
            clock=utc_now,
        )
        starting.is_done = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(schemas.follow_topic(stopping))
            tasks.create_task(consumer.consume_records(stopping))
            tasks.create_task(OutboxRelay(settings.database_url, SCHEMA, producer).run_relay(stopping))
            tasks.create_task(wakeups.run(stopping))
            tasks.create_task(number_events(events, wakeups, stopping))
            tasks.create_task(forget_events(events, timedelta(days=settings.document_event_days), stopping))
            for _ in range(settings.parser_processes):
                tasks.create_task(process_documents(process_document, leases, wakeups, stopping))


async def api(settings: DocumentsAPISettings, process: Process) -> None:
    """`GET /documents`, `/documents/{id}`, `/documents/{id}/content`, `/documents/events`"""
    # At its debug level it writes what it sends, and that is what mails are about.
    logging.getLogger("sse_starlette").setLevel(logging.WARNING)
    stopping = process.stopping
    keys = APIKeys.parse_keys(settings.api_keys.get_secret_value())
    async with AsyncExitStack() as stack:
        pool = await _database(settings, process, stack)
        blobs = await stack.enter_async_context(open_blob_store(settings))
        wakeups = Wakeups(settings.database_url, [NUMBERED], application_name=f"{process.name}-wakeups")
        web = build_service_app(
            process, title="Mailroom ingestion: documents", invalid_value_errors=INVALID_VALUE_ERRORS
        )
        web.include_router(
            events_router(
                PgDocumentEvents(pool),
                PgTickets(pool, lifetime=timedelta(seconds=settings.event_ticket_s)),
                wakeups,
                keys,
                stopping=stopping,
                heartbeat_s=settings.event_heartbeat_s,
            )
        )
        web.include_router(documents_router(PgDocuments(pool), blobs, keys))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wakeups.run(stopping))
            tasks.create_task(serve_app(web, host=settings.http_host, port=settings.http_port, stopping=stopping))


async def _database(settings: DatabaseSettings, process: Process, stack: AsyncExitStack) -> asyncpg.Pool:
    pool = await stack.enter_async_context(
        open_pool(settings.database_url, application_name=process.name, max_size=settings.database_pool_size)
    )
    await require_current_schema(pool, SCHEMA)
    return pool


def _parser(settings: WorkerSettings) -> ParserPool:
    limits = ParserLimits(
        memory_bytes=settings.parser_memory_bytes, cpu_s=settings.parser_cpu_s, wall_s=settings.parser_wall_s
    )
    return ParserPool(
        size=settings.parser_processes,
        limits=limits,
        preload=READERS,
        allow_unconfined=settings.parser_unconfined,
    )


class _Starting:
    """Not ready before everything that a record needs is there."""

    is_done = False

    def complaint(self) -> str | None:
        return None if self.is_done else "starting: Postgres, Kafka or the schemas topic is not read yet"
