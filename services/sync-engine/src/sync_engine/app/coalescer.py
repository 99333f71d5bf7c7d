"""Composition of `python -m sync_engine coalescer`: bursts of notifications become few sync requests."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import RawRecord
from mailroom_common.process import Process
from mailroom_common.topics import NOTIFICATIONS
from mailroom_common.web import build_service_app, serve_service_app
from sync_engine.adapters.faust_app import build_faust_app
from sync_engine.adapters.faust_host import FaustHost, FaustWindows
from sync_engine.adapters.faust_watch import FaustWatch
from sync_engine.adapters.sync_requests_topic import CoalescedRequests
from sync_engine.handlers.coalesce_notifications import CoalesceNotifications
from sync_engine.settings import CoalescerSettings

_utc_now = partial(datetime.now, UTC)


async def run(settings: CoalescerSettings, process: Process) -> None:
    """notifications ──▶ windows per doc source (Faust table) ──▶ sync-requests"""
    codec = Codec()
    producer = EventProducer(settings, codec, client_id=process.name)
    dead_letters = DeadLetterWriter(producer, process.name)

    async def write_dead_letter(record: RawRecord, error: Exception) -> None:
        await dead_letters.write_dead_letter(NOTIFICATIONS, record, RecordFailure(error, 1, _utc_now()))

    app = build_faust_app(settings)
    topic = producer.topic_name(NOTIFICATIONS)
    windows = FaustWindows(app, topic)
    coalesce = CoalesceNotifications(
        windows,
        CoalescedRequests(producer, _utc_now),
        length=timedelta(seconds=settings.coalesce_window_s),
        clock=_utc_now,
    )
    windows.on_recover(coalesce.on_recovery)
    host = FaustHost(
        app,
        topic,
        codec,
        handle_notification=coalesce.handle_notification,
        wait_until_due=coalesce.wait_until_due,
        close_due_windows=coalesce.close_due_windows,
        write_dead_letter=write_dead_letter,
    )

    process.health.add_readiness("faust", host.check_readiness)
    web = build_service_app(process, title="Mailroom sync-engine: coalescer")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve_service_app(web, settings, process))
        # Within the producer: what Faust has in hand at a stop is still sent.
        async with producer:
            watch_task = tasks.create_task(FaustWatch(settings, app, topic).watch_app())
            await host.run_app(process.stopping)
            watch_task.cancel()
