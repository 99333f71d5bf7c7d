import subprocess
import sys
from typing import Any

import pytest
from structlog.testing import capture_logs

from webhook_gateway.app import warn_of_unchecked_subscription
from webhook_gateway.settings import Settings


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


def test_the_process_has_no_database_driver() -> None:
    imported = "import sys, webhook_gateway.app; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", imported], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "aiokafka" in modules
    assert "asyncpg" not in modules
