"""The loop that reports, as a metric, when the first subscription of each provider ends.

Every instance reports the same. A renewal that fails is tried again and again, so that an end that comes near means
that nothing has helped for a day.
"""

import asyncio

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SUBSCRIPTION_EARLIEST_EXPIRY
from mailroom_common.retries import wait_for_event
from subscription_manager.ports import ConnectionStore

log = get_logger()

_INTERVAL_S = 300.0  # it looks at every subscription


class ExpiryReporter:
    def __init__(self, connections: ConnectionStore) -> None:
        self._connections = connections

    async def run_reports(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            await self._report_expiries()
            await wait_for_event(stopping, timeout_s=_INTERVAL_S)

    async def _report_expiries(self) -> None:
        try:
            earliest = await self._connections.find_earliest_expiries()
        except Unavailable as error:
            # Postgres is away; the metric keeps its value until it is back.
            log.warning("expiry_report_deferred", reason=str(error))
            return
        # A provider whose last subscription has ended is no longer reported.
        SUBSCRIPTION_EARLIEST_EXPIRY.clear()
        for provider, expires_at in earliest.items():
            SUBSCRIPTION_EARLIEST_EXPIRY.labels(provider).set(expires_at.timestamp())
