"""The loop that writes a doc source to `doc-sources` again when an older version of it was written behind a newer one.

A relay that was frozen may do so when it thaws. Those who read both keep the newer; compaction keeps the older, and a
gateway that starts afterwards would refuse genuine pushes. `republish_doc_sources.py` does the same at the start.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Protocol

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import DOC_SOURCES_REPUBLISHED
from mailroom_common.retries import wait_for_event, wait_for_first
from subscription_manager.ports import ConnectionStore

log = get_logger()

_MAX_PAUSE_S = 3600.0  # nothing is due before a record is reported


class OutdatedRecords(Protocol):
    """`DocSourceDirectory` of mailroom_common, which goes on reading."""

    def list_outdated(self) -> Mapping[str, int]: ...

    def on_outdated(self, listener: Callable[[str], None]) -> None: ...


class DocSourceRepairer:
    """`max_delay_s`: how long it waits at most, at random, before it judges what was reported. Every instance reads the
    same record; the first one's repeat has mostly been read by the others by then, as has a newer version that was on
    its way in order."""

    def __init__(self, connections: ConnectionStore, topic: OutdatedRecords, *, max_delay_s: float = 5.0) -> None:
        self._connections = connections
        self._topic = topic
        self._max_delay_s = max_delay_s
        self._reported: set[str] = set()
        self._has_reports = asyncio.Event()
        topic.on_outdated(self._report)

    async def run_repairs(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            await wait_for_first(self._has_reports, stopping, timeout_s=_MAX_PAUSE_S)
            await wait_for_event(stopping, timeout_s=self._max_delay_s * random.uniform(0.2, 1))  # noqa: S311  # no secret
            if not stopping.is_set():
                await self._repair_reported()

    def _report(self, doc_source_id: str) -> None:
        self._reported.add(doc_source_id)
        self._has_reports.set()

    async def _repair_reported(self) -> None:
        self._has_reports.clear()
        for doc_source_id in list(self._reported):
            try:
                await self._repair_doc_source(doc_source_id)
            except Unavailable as error:
                # Postgres is away; what is left is looked at again after the next delay.
                log.warning("doc_source_repair_deferred", reason=str(error))
                self._has_reports.set()
                return
            self._reported.discard(doc_source_id)

    async def _repair_doc_source(self, doc_source_id: str) -> None:
        last = self._topic.list_outdated().get(doc_source_id)
        published = None if last is None else await self._connections.find_published_version(doc_source_id)
        # What waits in the outbox is written behind the older record anyway.
        if last is None or published is None or published.is_waiting or published.version <= last:
            return
        # The last record was older than the table: it is written again, behind it.
        log.warning("doc_source_repaired", doc_source_id=doc_source_id, found=last, version=published.version)
        await self._connections.republish_doc_source(doc_source_id)
        DOC_SOURCES_REPUBLISHED.inc()
