"""`python -m ingestion api`, on one page."""

import asyncio
import logging
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from ingestion.adapters.blobs import StoredDocumentBlobs
from ingestion.adapters.document_events import PgEventLog
from ingestion.adapters.document_passwords import PgDocumentPasswords
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.event_tickets import PgEventTickets
from ingestion.adapters.intakes import PgIntakeStore
from ingestion.adapters.local_reader import READER_REASONS
from ingestion.adapters.notify_listener import NotifyListener
from ingestion.adapters.orders import PgPendingOrders
from ingestion.adapters.page_drawer import PAGE_MODULES, ParserPageDrawer
from ingestion.adapters.rereads import PgRereads
from ingestion.adapters.reviews import PgReviews
from ingestion.adapters.trades import PgTradeLedger
from ingestion.adapters.uploads import PgManualUploads
from ingestion.api.documents import build_documents_router
from ingestion.api.events import build_events_router
from ingestion.api.export import build_export_router
from ingestion.api.orders import ORDER_BODY_LIMITS, build_orders_router
from ingestion.api.page_images import build_page_images_router
from ingestion.api.password import build_password_router
from ingestion.api.reprocess import build_reprocess_router
from ingestion.api.review import REVIEW_BODY_LIMITS, build_review_router
from ingestion.api.trades import build_trades_router
from ingestion.api.upload import BODY_LIMITS, build_upload_router
from ingestion.handlers.record_attachment import AttachmentRecorder
from ingestion.handlers.upload_document import DocumentUploader
from ingestion.ports.events import Channel
from ingestion.settings import DocumentsAPISettings
from mailroom_common.auth import APIKeys
from mailroom_common.blobs import find_blob_folder, open_blob_store
from mailroom_common.kafka.codec import Codec
from mailroom_common.migrations import require_current_schema
from mailroom_common.outbox import Outbox
from mailroom_common.parser.confined_pool import open_confined_pool
from mailroom_common.parser.scratch_folder import open_scratch_folder
from mailroom_common.postgres import INVALID_VALUE_ERRORS, open_pool
from mailroom_common.process import Process
from mailroom_common.web import build_service_app, serve_service_app

SCHEMA = "ingestion"


async def run(settings: DocumentsAPISettings, process: Process) -> None:
    """Reads the worker's tables and the blob store; writes tickets, requests to read again and reviews, whose results
    the worker's relay publishes: it needs no Kafka."""
    # At its debug level it logs what it sends, which is what mails are about.
    logging.getLogger("sse_starlette").setLevel(logging.WARNING)
    stopping = process.stopping
    keys = APIKeys.parse_keys(settings.api_keys.get_secret_value())
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(
            open_pool(settings.database_url, application_name=process.name, max_size=settings.database_pool_size)
        )
        await require_current_schema(pool, SCHEMA)
        blobs = await stack.enter_async_context(open_blob_store(settings))
        listener = NotifyListener(
            settings.database_url, [Channel.EVENT_NUMBERED], application_name=f"{process.name}-listener"
        )
        web = build_service_app(
            process,
            title="Mailroom ingestion: documents",
            invalid_value_errors=INVALID_VALUE_ERRORS,
            body_limits={**BODY_LIMITS, **ORDER_BODY_LIMITS, **REVIEW_BODY_LIMITS},
        )
        # Before the documents: `/documents/events` would be taken for the document `events`.
        web.include_router(
            build_events_router(
                PgEventLog(pool),
                PgEventTickets(pool, lifetime=timedelta(seconds=settings.event_ticket_s)),
                listener,
                keys,
                stopping=stopping,
                heartbeat_s=settings.event_heartbeat_s,
            )
        )
        # Before the documents as well: one of them is not called `reprocess`.
        web.include_router(build_reprocess_router(PgDocumentCatalog(pool), PgRereads(pool), keys))
        outbox = Outbox(SCHEMA, Codec())
        web.include_router(build_review_router(PgDocumentCatalog(pool), PgReviews(pool, outbox, utc_now), keys))
        password_keys = settings.password_keys
        passwords = None if password_keys is None else PgDocumentPasswords(pool, password_keys)
        web.include_router(build_password_router(PgDocumentCatalog(pool), passwords, keys))
        scratch = stack.enter_context(open_scratch_folder(Path(tempfile.gettempdir())))
        files = StoredDocumentBlobs(blobs, scratch=scratch)
        pages = await stack.enter_async_context(_build_page_drawer(settings, scratch))
        web.include_router(build_page_images_router(PgDocumentCatalog(pool), files, pages, keys))
        recorder = AttachmentRecorder(PgIntakeStore(pool, outbox, utc_now), PgRereads(pool), files)
        uploader = DocumentUploader(PgManualUploads(pool), recorder, blobs, utc_now)
        web.include_router(build_upload_router(uploader, PgDocumentCatalog(pool), keys))
        web.include_router(build_export_router(PgDocumentCatalog(pool), keys))
        web.include_router(build_trades_router(PgTradeLedger(pool), keys))
        web.include_router(build_orders_router(PgPendingOrders(pool), PgTradeLedger(pool), keys))
        web.include_router(build_documents_router(PgDocumentCatalog(pool), blobs, keys))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(listener.run_listener(stopping))
            tasks.create_task(serve_service_app(web, settings, process))


def utc_now() -> datetime:
    return datetime.now(UTC)


def _build_page_drawer(settings: DocumentsAPISettings, scratch: Path) -> ParserPageDrawer:
    """Its processes start with the first page that is asked for."""
    open_pages = partial(
        open_confined_pool,
        settings,
        blobs=find_blob_folder(settings),
        scratch=scratch,
        readers=PAGE_MODULES,
        reasons=READER_REASONS,
    )
    return ParserPageDrawer(open_pages)
