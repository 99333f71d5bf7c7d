"""Composition of `python -m sync_engine api`: the HTTP API over the worker's tables."""

from mailroom_common.auth import APIKeys
from mailroom_common.migrations import require_current_schema
from mailroom_common.postgres import INVALID_VALUE_ERRORS, open_pool
from mailroom_common.process import Process
from mailroom_common.web import build_service_app, serve_service_app
from sync_engine.adapters.api_queries import PgMessageQueries
from sync_engine.adapters.recorded_mail_events import PgMailEventQueries
from sync_engine.api.mail_event_routes import build_mail_event_router
from sync_engine.api.routes import build_router
from sync_engine.settings import MessagesAPISettings

SCHEMA = "sync_engine"


async def run(settings: MessagesAPISettings, process: Process) -> None:
    """Reads the worker's tables and needs no Kafka; it writes when parked rows are tried again, and nothing else."""
    async with open_pool(
        settings.database_url, application_name=process.name, max_size=settings.database_pool_size
    ) as pool:
        await require_current_schema(pool, SCHEMA)
        web = build_service_app(
            process, title="Mailroom sync-engine: messages", invalid_value_errors=INVALID_VALUE_ERRORS
        )
        keys = APIKeys.parse_keys(settings.api_keys.get_secret_value())
        web.include_router(build_router(PgMessageQueries(pool), keys))
        web.include_router(build_mail_event_router(PgMailEventQueries(pool), keys))
        await serve_service_app(web, settings, process)
