"""The loop that renews our claims on messages that wait for results, so that no outside job takes them over."""

import asyncio

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.retries import wait_for_event
from sync_engine.ports import IngestionStates

log = get_logger()

# Of the stuck timeout: three renewals may fail before a claim is lost.
_RENEWALS_PER_TIMEOUT = 4


class RenewClaims:
    """Every worker renews the claims of all: any of them that is alive keeps what Mailroom has."""

    def __init__(self, states: IngestionStates, *, stuck_timeout_s: float) -> None:
        self._states = states
        self._interval_s = stuck_timeout_s / _RENEWALS_PER_TIMEOUT

    async def renew_repeatedly(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                await self._states.renew_claims()
            except Unavailable as error:
                # Postgres is away; the next round renews what this one did not.
                log.warning("claim_renewal_postponed", reason=str(error))
            except Exception:
                # A bug of ours, or a right that is missing at the shared table: other mail does not depend on it.
                log.exception("claim_renewal_failed")
            await wait_for_event(stopping, timeout_s=self._interval_s)
