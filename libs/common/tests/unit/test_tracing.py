"""The trace of a record is on what its work writes: records and log lines, of tasks that it starts too."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest
import structlog

from mailroom_common.logs import configure_logging
from mailroom_common.tracing import bind_traceparent, generate_traceparent, get_or_create_traceparent

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged, through the configuration of a service; whatever was configured before is restored."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    out = io.StringIO()
    with redirect_stdout(out):
        configure_logging("test-service")
        yield out
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def logged_traces(lines: io.StringIO) -> list[str | None]:
    return [json.loads(line).get("traceparent") for line in lines.getvalue().splitlines()]


def test_a_record_written_during_the_work_carries_its_trace() -> None:
    with bind_traceparent(TRACE):
        assert get_or_create_traceparent() == TRACE
    assert get_or_create_traceparent() != TRACE


@pytest.mark.parametrize("received", [None, "", "garbage", TRACE.upper(), TRACE + "-more"])
def test_what_is_no_traceparent_begins_a_new_trace(received: str | None) -> None:
    with bind_traceparent(received):
        begun = get_or_create_traceparent()
    assert begun != received
    assert len(begun) == len(TRACE)


def test_new_traces_differ() -> None:
    assert generate_traceparent() != generate_traceparent()


def test_every_log_line_of_the_work_carries_its_trace_and_no_line_after_it(lines: io.StringIO) -> None:
    log = structlog.get_logger()
    log.info("before_work")
    with bind_traceparent(TRACE):
        log.info("work_begun")
        logging.getLogger("a.library").warning("a library's line")
    log.info("after_work")
    assert logged_traces(lines) == [None, TRACE, TRACE, None]


async def test_log_lines_of_tasks_that_the_work_starts_carry_its_trace(lines: io.StringIO) -> None:
    async def log_line() -> None:
        structlog.get_logger().info("task_begun")

    with bind_traceparent(TRACE):
        task = asyncio.create_task(log_line())
    await task
    assert logged_traces(lines) == [TRACE]


def test_work_within_work_has_its_own_trace_and_then_the_outer_one_again(lines: io.StringIO) -> None:
    inner = generate_traceparent()
    log = structlog.get_logger()
    with bind_traceparent(TRACE):
        with bind_traceparent(inner):
            log.info("inner_work")
        log.info("outer_work")
    assert logged_traces(lines) == [inner, TRACE]
