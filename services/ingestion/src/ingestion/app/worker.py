"""`python -m ingestion worker`, on one page."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg

import mailroom_gmail
import mailroom_outlook
from ingestion.adapters.blobs import StoredDocumentBlobs
from ingestion.adapters.document_check import PgDocumentCheck
from ingestion.adapters.document_events import PgEventLog
from ingestion.adapters.document_passwords import PasswordSweeper
from ingestion.adapters.document_results import PgResultBacklog
from ingestion.adapters.intakes import PgIntakeStore
from ingestion.adapters.leases import PgDocumentLeases
from ingestion.adapters.ledger_reasons import PgLedgerReasons
from ingestion.adapters.local_reader import READER_MODULES, READER_REASONS, open_local_readers
from ingestion.adapters.model_budget import PgModelBudget
from ingestion.adapters.notify_listener import NotifyListener
from ingestion.adapters.ocr_reader import OCRReader
from ingestion.adapters.order_matching import PgOrderMatcher
from ingestion.adapters.rereads import PgRereads
from ingestion.adapters.supplier_accounts import PgSupplierBackfill
from ingestion.adapters.templates import PgTemplates
from ingestion.adapters.trade_announcements import PgTradeAnnouncements
from ingestion.adapters.uploads import UploadSweeper
from ingestion.adapters.word_positions import PgWordPositionBackfill
from ingestion.app.language_model import open_assistant
from ingestion.app.ocr import build_ocr_reader, open_ocr_pool
from ingestion.domain.document import AttemptPolicy
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.lanes import LaneSchedule
from ingestion.domain.order_matching import OrderTolerances
from ingestion.handlers.archive_document import PDFArchiver
from ingestion.handlers.assist_reading import ReadingAssistant
from ingestion.handlers.learn_template import TemplateLearner
from ingestion.handlers.process_document import DocumentProcessor
from ingestion.handlers.record_attachment import AttachmentRecorder
from ingestion.handlers.remove_duplicate import DuplicateRemover
from ingestion.ports.blobs import DocumentBlobs
from ingestion.ports.events import Channel
from ingestion.ports.housekeeping import BlobSweep
from ingestion.ports.leases import DocumentLeases
from ingestion.ports.readers import DocumentReaders
from ingestion.ports.templates import Templates
from ingestion.settings import WorkerSettings
from ingestion.worker_loops import (
    run_backfill,
    run_backlog_report,
    run_blob_sweep,
    run_document_check,
    run_document_worker,
    run_event_numbering,
    run_event_retention,
    run_ledger_reasons,
    run_lessons,
    run_order_matching,
    run_password_sweep,
    run_result_backlog,
    run_trade_announcements,
)
from mailroom_common.blobs import find_blob_folder, open_blob_store
from mailroom_common.events import Profile
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox, OutboxRelay
from mailroom_common.parser.confined_pool import open_confined_pool
from mailroom_common.parser.pool import ParserPool
from mailroom_common.parser.scratch_folder import open_scratch_folder
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.providers.ports import ProviderPackage
from mailroom_common.secret_files import find_secret_paths
from mailroom_common.topic_access import INTAKE_GROUP
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL
from mailroom_common.web import build_service_app, serve_service_app

SCHEMA = "ingestion"
PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)


async def run(settings: WorkerSettings, process: Process, *, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    """attachments ──▶ intake, document ──claim──▶ transcribe, classify, extract, route, archive ──▶ results"""
    stopping = process.stopping
    started = asyncio.Event()
    process.health.add_readiness("start", lambda: None if started.is_set() else "what it needs is not all reached yet")
    web = build_service_app(process, title="Mailroom ingestion: worker")
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(
            open_pool(settings.database_url, application_name=process.name, max_size=settings.database_pool_size)
        )
        await require_current_schema(pool, SCHEMA)
        scratch = stack.enter_context(open_scratch_folder(Path(tempfile.gettempdir())))
        blob_store = await stack.enter_async_context(open_blob_store(settings))
        blobs = StoredDocumentBlobs(blob_store, scratch=scratch)
        # From here on Kafka is waited for, and `/readyz` says so.
        serving = await stack.enter_async_context(asyncio.TaskGroup())
        serving.create_task(serve_service_app(web, settings, process))
        parser = await stack.enter_async_context(_open_parser(settings, process, scratch))
        pictures = await _open_picture_reader(stack, settings, scratch)
        codec = Codec()
        producer = await stack.enter_async_context(EventProducer(settings, codec, client_id=process.name))
        schemas = SchemaDirectory(settings, codec)
        stack.push_async_callback(schemas.close)
        await schemas.load_schemas()

        outbox, relay = Outbox(SCHEMA, codec), OutboxRelay(settings.database_url, SCHEMA, producer)
        listener = NotifyListener(
            settings.database_url,
            [Channel.DOCUMENT_DUE, Channel.EVENT_UNNUMBERED, Channel.RESULTS_WAITING, Channel.TRADES_CHANGED],
            application_name=f"{process.name}-listener",
        )
        events = PgEventLog(pool)
        leases = _build_leases(settings, pool, outbox)
        intakes, rereads = PgIntakeStore(pool, outbox, utc_now), PgRereads(pool)
        recorder = AttachmentRecorder(intakes, rereads, blobs)
        consumer = _build_consumer(settings, recorder, codec, schemas, DeadLetterWriter(producer, process.name))
        process.health.add_readiness("kafka", consumer.check_readiness)
        budget = PgModelBudget(pool)
        assistant = await stack.enter_async_context(open_assistant(settings, budget, parser, clock=utc_now))
        templates, open_readers = PgTemplates(pool), partial(open_local_readers, parser)
        processor = _build_processor(settings, leases, blobs, open_readers, pictures, assistant, providers, templates)
        # Documents whose answer is awaited, and those in OCR, hold no parser process: others are read meanwhile.
        loops = settings.parser_processes + settings.ocr_processes
        loops += settings.llm_concurrent if assistant is not None else 0
        started.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(schemas.follow_topic(stopping))
            tasks.create_task(consumer.consume_records(stopping))
            tasks.create_task(relay.run_relay(stopping))
            tasks.create_task(listener.run_listener(stopping))
            tasks.create_task(run_event_numbering(events, listener, stopping))
            tasks.create_task(run_result_backlog(PgResultBacklog(pool, outbox, relay, utc_now), listener, stopping))
            _start_trade_loops(tasks, settings, pool, outbox, listener, stopping)
            tasks.create_task(run_backlog_report(leases, stopping))
            sweeps = (UploadSweeper(pool, blob_store), DuplicateRemover(intakes, rereads, blobs))
            _start_housekeeping(tasks, settings, pool, events, sweeps, stopping)
            tasks.create_task(run_lessons(TemplateLearner(templates, templates, blobs, open_readers), stopping))
            for number in range(loops):
                schedule = LaneSchedule(number, loops)
                tasks.create_task(run_document_worker(processor, leases, listener, stopping, schedule))


def _start_trade_loops(
    tasks: asyncio.TaskGroup,
    settings: WorkerSettings,
    pool: asyncpg.Pool,
    outbox: Outbox,
    listener: NotifyListener,
    stopping: asyncio.Event,
) -> None:
    announcements = PgTradeAnnouncements(pool, outbox, utc_now)
    matcher = PgOrderMatcher(pool, OrderTolerances(settings.order_tolerances))
    tasks.create_task(run_trade_announcements(announcements, listener, stopping))
    tasks.create_task(run_order_matching(matcher, listener, stopping))
    tasks.create_task(run_ledger_reasons(PgLedgerReasons(pool, outbox, utc_now), stopping))


def _start_housekeeping(
    tasks: asyncio.TaskGroup,
    settings: WorkerSettings,
    pool: asyncpg.Pool,
    events: PgEventLog,
    sweeps: Sequence[BlobSweep],
    stopping: asyncio.Event,
) -> None:
    tasks.create_task(run_event_retention(events, timedelta(days=settings.document_event_days), stopping))
    tasks.create_task(run_document_check(PgDocumentCheck(pool), stopping))
    for backfill in (PgSupplierBackfill(pool), PgWordPositionBackfill(pool)):
        tasks.create_task(run_backfill(backfill, stopping))
    for sweep in sweeps:
        tasks.create_task(run_blob_sweep(sweep, stopping))
    tasks.create_task(run_password_sweep(PasswordSweeper(pool), stopping))


def _build_leases(settings: WorkerSettings, pool: asyncpg.Pool, outbox: Outbox) -> PgDocumentLeases:
    return PgDocumentLeases(
        pool,
        outbox,
        duration=timedelta(seconds=settings.document_lease_s),
        clock=utc_now,
        password_keys=settings.password_keys,
    )


def _open_parser(settings: WorkerSettings, process: Process, scratch: Path) -> AbstractAsyncContextManager[ParserPool]:
    """Opened before the first record: a worker whose parser processes are not confined must take nothing in."""
    return open_confined_pool(
        settings,
        process,
        blobs=find_blob_folder(settings),
        scratch=scratch,
        readers=READER_MODULES,
        reasons=READER_REASONS,
    )


def _build_consumer(
    settings: WorkerSettings,
    recorder: AttachmentRecorder,
    codec: Codec,
    schemas: SchemaDirectory,
    dead_letters: DeadLetterWriter,
) -> WindowedConsumer:
    return WindowedConsumer(
        settings,
        group=INTAKE_GROUP,
        topics=[ATTACHMENTS, ATTACHMENTS_BACKFILL],
        handle=recorder,
        codec=codec,
        schemas=schemas,
        dead_letters=dead_letters,
        # The other half of the connections is for the documents in hand.
        max_concurrent=max(1, settings.database_pool_size // 2),
        # A replay sends as fast as it was told: what has just arrived does not wait for its records.
        max_concurrent_of={ATTACHMENTS_BACKFILL: 1},
    )


async def _open_picture_reader(stack: AsyncExitStack, settings: WorkerSettings, scratch: Path) -> OCRReader | None:
    """None where OCR is switched off. Its processes start with the first picture."""
    if not settings.ocr_processes:
        return None
    blobs = find_blob_folder(settings)
    open_pool = partial(
        open_ocr_pool,
        settings,
        private_paths=[*find_secret_paths(), scratch, scratch.parent, *([blobs] if blobs else [])],
        allow_unconfined=settings.parser_unconfined,
    )
    return await stack.enter_async_context(build_ocr_reader(settings, open_pool))


def utc_now() -> datetime:
    return datetime.now(UTC)


def _build_processor(
    settings: WorkerSettings,
    leases: DocumentLeases,
    blobs: DocumentBlobs,
    open_readers: Callable[[Profile], AbstractAsyncContextManager[DocumentReaders]],
    pictures: OCRReader | None,
    assistant: ReadingAssistant | None,
    providers: Sequence[ProviderPackage],
    templates: Templates,
) -> DocumentProcessor:
    return DocumentProcessor(
        leases,
        blobs,
        open_readers,
        ExtractionRouter(settings.trade_confidence, settings.confidence_by_doc_source),
        PDFArchiver(
            leases,
            blobs,
            sources={package.traits.name: package.traits.archive_source for package in providers},
            clock=utc_now,
        ),
        attempts=AttemptPolicy(
            settings.document_attempts,
            timedelta(seconds=settings.document_pause_s),
            timedelta(seconds=settings.document_longest_pause_s),
        ),
        # Three renewals may fail before the lease ends.
        renew_every_s=settings.document_lease_s / 4,
        clock=utc_now,
        pictures=pictures,
        assistant=assistant,
        templates=templates,
    )
