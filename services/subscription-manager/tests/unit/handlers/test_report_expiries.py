import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from connection_samples import NOW
from fake_connection_store import FakeConnectionStore
from prometheus_client import REGISTRY

from mailroom_common.errors import Unavailable
from subscription_manager.handlers.report_expiries import ExpiryReporter

SOON, LATER = NOW + timedelta(hours=1), NOW + timedelta(days=6)


class Expiries(FakeConnectionStore):
    """Answers as told, and stops the loop with the last answer."""

    def __init__(self, *answers: Mapping[str, datetime] | Exception) -> None:
        super().__init__()
        self.stopping = asyncio.Event()
        self._answers = list(answers)

    async def find_earliest_expiries(self) -> Mapping[str, datetime]:
        answer = self._answers.pop(0)
        if not self._answers:
            self.stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def read_expiry(provider: str) -> float | None:
    return REGISTRY.get_sample_value(
        "mailroom_subscription_manager_earliest_expiry_timestamp_seconds", {"provider": provider}
    )


async def report(*answers: Mapping[str, datetime] | Exception) -> None:
    store = Expiries(*answers)
    await asyncio.wait_for(ExpiryReporter(store).run_reports(store.stopping), 5)


async def test_the_first_end_of_each_provider_is_reported_and_no_provider_without_one() -> None:
    await report({"outlook": SOON, "gmail": LATER})
    assert (read_expiry("outlook"), read_expiry("gmail")) == (SOON.timestamp(), LATER.timestamp())
    await report({"gmail": LATER})
    assert (read_expiry("outlook"), read_expiry("gmail")) == (None, LATER.timestamp())


async def test_what_was_reported_stays_while_postgres_is_away() -> None:
    await report({"gmail": SOON})
    await report(Unavailable("Postgres is away"))
    assert read_expiry("gmail") == SOON.timestamp()
