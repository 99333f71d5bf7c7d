"""What became of a provider's answer, for a browser that brings the same answer again: a double click, a reload."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.tokens.sealing import SealingKeys
from subscription_manager.handlers.consent_refusals import OUTCOME_UNKNOWN
from subscription_manager.ports import ConsentFlow, ConsentFlowStore

log = get_logger()

# The first request has its code exchanged at the provider meanwhile.
_MAX_WAIT_S = 10.0
_POLL_INTERVAL_S = 0.5
# No request lives so long: one that has stored no outcome by then was ended with its process.
_MAX_REQUEST_DURATION = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class ConsentOutcome:
    """`refusal` is the sentence that the page said, None where the mailbox was connected."""

    refusal: str | None


class ConsentOutcomes:
    """An outcome is sealed, since its sentence may name whoever signed in."""

    def __init__(
        self,
        flows: ConsentFlowStore,
        keys: SealingKeys,
        *,
        max_wait_s: float = _MAX_WAIT_S,
        poll_interval_s: float = _POLL_INTERVAL_S,
    ) -> None:
        self._flows = flows
        self._keys = keys
        self._max_wait_s = max_wait_s
        self._poll_interval_s = poll_interval_s

    async def store_outcome(self, flow: ConsentFlow, outcome: ConsentOutcome) -> None:
        sealed = self._keys.seal_secret(orjson.dumps({"refusal": outcome.refusal}), bound_to=_bind_to_outcome(flow.id))
        try:
            await self._flows.store_outcome(flow.id, sealed)
        except Unavailable as error:
            # Postgres is away. This browser has its answer; one that brings it again hears that the end is not known.
            log.warning("consent_outcome_not_stored", doc_source_id=flow.doc_source_id, reason=str(error))

    async def wait_for_outcome(self, state_sha256: bytes, now: datetime) -> ConsentOutcome | None:
        """None: the request with the first answer has not ended by now, and perhaps never will."""
        deadline_s = asyncio.get_running_loop().time() + self._max_wait_s
        while True:
            flow = await self._flows.find_flow(state_sha256)
            if flow is not None and flow.sealed_outcome is not None:
                stored = orjson.loads(self._keys.unseal_secret(flow.sealed_outcome, bound_to=_bind_to_outcome(flow.id)))
                return ConsentOutcome(stored["refusal"])
            if flow is not None and flow.finished_at is not None and flow.finished_at < now - _MAX_REQUEST_DURATION:
                return ConsentOutcome(OUTCOME_UNKNOWN)
            if asyncio.get_running_loop().time() >= deadline_s:
                return None
            await asyncio.sleep(self._poll_interval_s)


def _bind_to_outcome(flow_id: str) -> str:
    return f"oauth_outcome:{flow_id}"
