"""Sends records of `attachments` again whose results have not come within a day."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import ATTACHMENTS_REEMITTED, MESSAGES_OVERDUE
from mailroom_common.retries import wait_for_event
from sync_engine.ports import DocSources, OpenMessages

log = get_logger()

# Of one round: new mail's records wait behind these in the outbox.
_MAX_BATCHES = 50
# Whoever looks needs to know that it is many, not how many.
_MAX_COUNTED = 10_000


class ReemitAttachments:
    """Results are lost with a database that failed over to an older state, and a record that became a dead letter has
    none. ingestion answers a repeated record with its result, and records one that it does not know."""

    def __init__(
        self, messages: OpenMessages, sources: DocSources, clock: Callable[[], datetime], *, after: timedelta
    ) -> None:
        self._messages = messages
        self._sources = sources
        self._clock = clock
        self._after = after

    async def reemit_repeatedly(self, stopping: asyncio.Event, *, interval_s: float) -> None:
        while not stopping.is_set():
            try:
                await self.reemit_overdue(stopping)
            except Unavailable as error:
                # Postgres is away; the next round sends what this one did not.
                log.warning("reemission_deferred", reason=str(error))
            except Exception:
                # A bug of ours over one message, and no reason to end the worker: the sync of mail does not depend on
                # it. The next round meets it again, and the overdue messages stay counted.
                log.exception("reemission_failed")
            await wait_for_event(stopping, interval_s)

    async def reemit_overdue(self, stopping: asyncio.Event | None = None) -> int:
        """How many records were sent again. Each message waits as long again before it is sent a third time."""
        now = self._clock()
        before = now - self._after
        by_source: Counter[str] = Counter()
        for _ in range(_MAX_BATCHES):
            batch = await self._messages.reemit_batch(self._sources.get_source, before, now)
            by_source.update(batch.attachments)
            ATTACHMENTS_REEMITTED.inc(sum(batch.attachments.values()))
            if batch.is_last or (stopping is not None and stopping.is_set()):
                break
        for doc_source_id, count in by_source.items():
            # ingestion has not said what became of these: results were lost, or records lie in the dead-letter topic.
            log.warning("attachments_reemitted", doc_source_id=doc_source_id, attachments=count)
        # Last: what is due has been sent by then.
        await self._report_overdue(before)
        return by_source.total()

    async def _report_overdue(self, before: datetime) -> None:
        try:
            count: float = await self._messages.count_overdue(before, up_to=_MAX_COUNTED)
        except Unavailable as error:
            # Postgres is away, or counting takes longer than it lets us: an older number is not shown as today's.
            log.warning("overdue_count_failed", reason=str(error))
            count = math.nan
        MESSAGES_OVERDUE.set(count)
