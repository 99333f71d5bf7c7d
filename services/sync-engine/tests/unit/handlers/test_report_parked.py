"""How many messages and parts are parked, by reason, is a metric."""

from collections.abc import Mapping
from typing import cast

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from mailroom_common.errors import Unavailable
from sync_engine.handlers.report_parked import ParkedReporter
from sync_engine.ports import ParkedItems


class Counts:
    def __init__(self, error: Exception | None = None) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.error = error

    async def count_by_reason(self) -> Mapping[tuple[str, str], int]:
        if self.error:
            raise self.error
        return self.counts


def read_metric(reason: str, kind: str) -> float | None:
    return REGISTRY.get_sample_value("mailroom_sync_engine_parked", {"reason": reason, "kind": kind})


async def test_a_reason_is_reported_as_long_as_something_is_parked_for_it() -> None:
    source = Counts()
    reporter = ParkedReporter(cast("ParkedItems", source))
    source.counts = {("crashed", "part"): 3, ("gone", "message"): 1}
    with capture_logs() as logs:
        await reporter.report_parked()
    assert (read_metric("crashed", "part"), read_metric("gone", "message")) == (3, 1)
    assert [log["counts"] for log in logs] == [{"part_crashed": 3, "message_gone": 1}]
    source.counts = {("crashed", "part"): 2}
    await reporter.report_parked()
    assert (read_metric("crashed", "part"), read_metric("gone", "message")) == (2, None)


@pytest.mark.parametrize("error", [Unavailable("Postgres is away"), ValueError("a bug of ours")])
async def test_a_count_that_fails_ends_no_reports_and_so_no_worker(error: Exception) -> None:
    await ParkedReporter(cast("ParkedItems", Counts(error))).report_parked()
