"""The loop that reports how many messages and parts are parked, by reason: as a metric, and in the log.

Every worker reports the same.
"""

import asyncio

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SYNC_ENGINE_PARKED
from mailroom_common.retries import wait_for_event
from sync_engine.ports import ParkedItems

log = get_logger()

_INTERVAL_S = 300.0


class ParkedReporter:
    def __init__(self, parked_items: ParkedItems) -> None:
        self._parked_items = parked_items

    async def run_reports(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            await self.report_parked()
            await wait_for_event(stopping, timeout_s=_INTERVAL_S)

    async def report_parked(self) -> None:
        try:
            counts = await self._parked_items.count_by_reason()
        except Unavailable as error:
            # Postgres is away; the metric keeps its value until it is back.
            log.warning("parked_report_deferred", reason=str(error))
            return
        except Exception:  # a metric that cannot be read must not end the syncing of mail
            # A bug of ours; fetching mail does not depend on it.
            log.exception("parked_report_failed")
            return
        # A reason for which nothing is parked any more is no longer reported.
        SYNC_ENGINE_PARKED.clear()
        for (reason, kind), count in counts.items():
            SYNC_ENGINE_PARKED.labels(reason, kind).set(count)
        if counts:
            # Something could not be stored, and is tried again: `mailroom parked list` shows what.
            log.info("parked_counted", counts={f"{kind}_{reason}": count for (reason, kind), count in counts.items()})
