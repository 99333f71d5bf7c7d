import time
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from webhook_gateway.app import Clock, warn_of_unchecked_subscription
from webhook_gateway.settings import Settings


def test_pushes_of_one_millisecond_have_one_and_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = 1_796_000_000_123_400_000
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    clock = Clock()

    first = clock()
    now_ns += 500_000
    assert clock() is first
    assert first == datetime.fromtimestamp(1_796_000_000, UTC).replace(microsecond=123_000)

    now_ns += 200_000
    assert clock() == first.replace(microsecond=124_000)


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        ({"pubsub_token": "t"}, True),
        ({"pubsub_audience": "a", "pubsub_service_account": "s"}, True),
        ({"pubsub_token": "t", "pubsub_subscription": "projects/p/subscriptions/s"}, False),
        ({}, False),  # every push is refused for want of a proof
    ],
)
def test_a_missing_subscription_path_is_warned_of_where_pushes_can_be_accepted(
    settings: dict[str, Any], is_warned: bool
) -> None:
    with capture_logs() as logs:
        warn_of_unchecked_subscription(Settings(kafka_bootstrap="127.0.0.1:9092", **settings))

    assert [line["event"] for line in logs] == ["pubsub_subscription_unchecked"] * is_warned
