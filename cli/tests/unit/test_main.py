import logging
from collections.abc import Iterator

import pytest
import structlog

from mailroom_cli.__main__ import send_logs_to_stderr


@pytest.fixture
def _keep_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(structlog, "configure", lambda **_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    yield
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)


@pytest.mark.usefixtures("_keep_logging")
def test_with_kafka_away_the_attempts_of_its_client_are_not_among_the_lines_of_a_command() -> None:
    send_logs_to_stderr()
    assert not logging.getLogger("aiokafka.conn").isEnabledFor(logging.ERROR)
    assert logging.getLogger("asyncio").isEnabledFor(logging.ERROR)
