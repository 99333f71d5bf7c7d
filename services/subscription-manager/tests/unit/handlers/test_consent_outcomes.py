from datetime import timedelta

from connection_samples import ID, NOW
from consent_setup import KEYS
from fake_consents import FakeConsentFlowStore
from structlog.testing import capture_logs

from mailroom_common.errors import Unavailable
from subscription_manager.handlers.consent_outcomes import ConsentOutcome, ConsentOutcomes
from subscription_manager.ports import ConsentFlow


class AwayFlowStore(FakeConsentFlowStore):
    async def store_outcome(self, flow_id: str, sealed_outcome: str) -> None:
        raise Unavailable("Postgres is away")


async def test_outcome_that_cannot_be_stored_is_no_failure_of_the_consent() -> None:
    flow = ConsentFlow("flow-1", ID, b"cookie", "sealed", NOW + timedelta(minutes=1), finished_at=NOW)
    outcomes = ConsentOutcomes(AwayFlowStore(), KEYS, max_wait_s=0)
    with capture_logs() as logs:
        await outcomes.store_outcome(flow, ConsentOutcome(None))
    assert [log["event"] for log in logs] == ["consent_outcome_not_stored"]
    assert await outcomes.wait_for_outcome(b"state", NOW) is None
