import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from mailroom_common.logs import configure_logging, get_logger


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Loggers keep the captured stdout, which is closed with the test: others must not write there."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_event_and_facts_are_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("gateway", instance_id="g-1")
    get_logger().info("thing_done", doc_source_id="d", count=2)
    (line,) = _lines(capsys)
    assert (
        line.items()
        >= {
            "event": "thing_done",
            "doc_source_id": "d",
            "count": 2,
            "level": "info",
            "process": "gateway",
            "instance_id": "g-1",
        }.items()
    )
    assert str(line["timestamp"]).endswith("Z")


def test_libraries_speak_the_same_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("gateway")
    logging.getLogger("some.library").warning("it %s", "happened")
    (line,) = _lines(capsys)
    assert (line["event"], line["logger"], line["level"]) == ("it happened", "some.library", "warning")


def test_library_that_repeats_itself_is_heard_once_and_we_are_heard_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("worker")
    for number in (1, 1, 2):
        logging.getLogger("aiokafka").error("no node %s", number)
        get_logger().warning("kafka_unreachable")
    events = [line["event"] for line in _lines(capsys)]
    assert events == ["no node 1", "kafka_unreachable", "kafka_unreachable", "no node 2", "kafka_unreachable"]


def test_each_crash_that_a_library_reports_is_heard(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("api")
    for error in (ValueError("one"), KeyError("two")):
        logging.getLogger("some.server").error("Exception in ASGI application", exc_info=error)
    assert len(_lines(capsys)) == 2


def test_urls_of_requests_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("manager")
    logging.getLogger("httpx").info("HTTP Request: POST https://login.example/?code=secret")
    assert _lines(capsys) == []


def test_traceback_has_neither_local_variables_nor_what_an_error_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("manager")

    def fail(token: str) -> None:
        raise ValueError(f"length {len(token)} of '{token}'")

    try:
        fail("canary-secret")
    except ValueError:
        get_logger().exception("failed")
    (line,) = _lines(capsys)
    assert "length 13" in str(line["exception"])
    assert "canary-secret" not in str(line["exception"]).replace('fail("canary-secret")', "")


def test_level_is_a_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("gateway", level="warning")
    get_logger().info("quiet")
    get_logger().warning("loud")
    assert [line["event"] for line in _lines(capsys)] == ["loud"]


def test_what_a_starting_kafka_has_clients_log_is_no_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    monkeypatch.setattr("mailroom_common.logs.time.monotonic", lambda: now_s)
    configure_logging("gateway")
    fetcher = logging.getLogger("aiokafka.consumer.fetcher")
    fetcher.error("Failed fetch offsets from 1: %s", "[Error 6] NotLeaderForPartitionError: 1")
    fetcher.error("Failed fetch offsets from 1: %s", "[Error 29] TopicAuthorizationFailedError")
    now_s += 61
    fetcher.error("Failed fetch offsets from 1: %s", "[Error 6] NotLeaderForPartitionError: 2")
    assert [line["level"] for line in _lines(capsys)] == ["info", "error", "error"]
