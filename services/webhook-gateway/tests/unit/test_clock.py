import time
from datetime import UTC, datetime

import pytest

from webhook_gateway.app import Clock


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
