"""`python -m sync_engine worker`, on one page."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta

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
from sync_engine.adapters.housekeeping import Housekeeping
from sync_engine.adapters.request_log import KafkaRequestLog
from sync_engine.adapters.results import PgResults
from sync_engine.adapters.run_tables import PgRunTables
from sync_engine.adapters.sync_states import PgSyncStates
from sync_engine.clock import utc_now
from sync_engine.domain.plan import Timings
from sync_engine.handlers.follow_sources import FollowSources
from sync_engine.handlers.record_results import RecordResults
from sync_engine.handlers.run_sync import RunSync
from sync_engine.handlers.work_off_requests import WorkOffRequests
from sync_engine.settings import WorkerSettings

SCHEMA = "sync_engine"
PROVIDERS: tuple[ProviderPackage, ...] = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)
_HOUSEKEEPING_EVERY_S = 3600.0


async def run(settings: WorkerSettings, process: Process, *, providers: Sequence[ProviderPackage] = PROVIDERS) -> None:
    """
    sync-requests ──▶ work tables ──▶ runs ◀──▶ provider       ingestion-results ──▶ closed messages
                                       ├──▶ blobs
                                       └──▶ Postgres, one transaction per page ──▶ outbox ──▶ attachments, mail-events,
                                                                                              connection-events
    """
    codec = Codec()
    started = asyncio.Event()
    process.health.add_readiness("start", lambda: None if started.is_set() else "what it needs is not all reached yet")
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
        states = PgSyncStates(pool, outbox, utc_now)

        schemas = SchemaDirectory(settings, codec)
        stack.push_async_callback(schemas.close)
        directory = DocSourceDirectory(settings, codec, schemas=schemas)
        stack.push_async_callback(directory.close)
        process.health.add_readiness("doc-sources", directory.check_readiness)
        follow = FollowSources(states)
        directory.on_change(follow.changed)
        await schemas.load_schemas()
        await directory.load_sources()

        def count_sharers(mailbox: Mailbox) -> int:
            return len(directory.find_by_address(mailbox.provider, mailbox.address))

        opened = await stack.enter_async_context(
            open_providers(providers, settings, tokens, count_sharers=count_sharers)
        )
        work = WorkOffRequests(
            runs=RunSync(
                providers=opened.mail,
                tables=PgRunTables(pool, outbox),
                states=states,
                blobs=blobs,
                clock=utc_now,
                timings=Timings(backstop_interval=timedelta(seconds=settings.backstop_interval_s)),
            ),
            states=states,
            sources=directory,
            requests=KafkaRequestLog(producer),
            connections=PgConnectionEvents(pool, outbox, utc_now),
            clock=utc_now,
            max_concurrent=settings.max_concurrent_syncs,
        )
        requests = FoldingConsumer(
            settings,
            group="mailroom.sync-engine.worker",
            topics=(SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
            open_fold=work.opened,
            close_fold=work.closed,
            codec=codec,
            schemas=schemas,
            dead_letters=dead_letters,
        )
        results = WindowedConsumer(
            settings,
            group="mailroom.sync-engine.recorder",
            topics=(INGESTION_RESULTS,),
            handle=RecordResults(PgResults(pool)).handle,
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
            tasks.create_task(Housekeeping(pool, blobs, utc_now).run(process.stopping, every_s=_HOUSEKEEPING_EVERY_S))
            following = tasks.create_task(follow.run())
            started.set()
            await work.run(process.stopping, grace_s=settings.stop_grace_s)
            following.cancel()
            drained.set()
