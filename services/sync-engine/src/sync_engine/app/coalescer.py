"""`python -m sync_engine coalescer`, on one page."""

import asyncio
from datetime import timedelta

from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import RawRecord
from mailroom_common.process import Process
from mailroom_common.topics import NOTIFICATIONS
from mailroom_common.web import build_service_app, serve_app
from sync_engine.adapters.coalesced_requests import CoalescedRequests
from sync_engine.adapters.faust_app import faust_app
from sync_engine.adapters.faust_host import FaustHost, FaustWindows
from sync_engine.adapters.faust_watch import FaustWatch
from sync_engine.clock import utc_now
from sync_engine.handlers.coalesce_notifications import CoalesceNotifications
from sync_engine.settings import CoalescerSettings


async def run(settings: CoalescerSettings, process: Process) -> None:
    """notifications ──▶ windows per doc source (Faust table) ──▶ sync-requests"""
    codec = Codec()
    producer = EventProducer(settings, codec, client_id=process.name)
    dead_letters = DeadLetterWriter(producer, process.name)

    async def bury(record: RawRecord, error: Exception) -> None:
        await dead_letters.write_dead_letter(NOTIFICATIONS, record, RecordFailure(error, 1, utc_now()))

    app = faust_app(settings)
    topic = producer.topic_name(NOTIFICATIONS)
    windows = FaustWindows(app, topic)
    length = timedelta(seconds=settings.coalesce_window_s)
    coalesce = CoalesceNotifications(windows, CoalescedRequests(producer, utc_now), length=length, clock=utc_now)
    windows.on_recover(coalesce.recovered)
    host = FaustHost(app, topic, codec, heard=coalesce.heard, flush=coalesce.flush, bury=bury)

    process.health.add_readiness("faust", host.ready)
    web = build_service_app(process, title="Mailroom sync-engine: coalescer")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve_app(web, host=settings.http_host, port=settings.http_port, stopping=process.stopping))
        async with producer:
            watching = tasks.create_task(FaustWatch(settings, app, topic).run())
            await host.run(process.stopping)
            watching.cancel()
