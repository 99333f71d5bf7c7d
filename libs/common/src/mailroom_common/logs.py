"""Structured logs: JSON lines on stdout with a constant event name, facts as fields, ids and never contents."""

import logging
import sys
import time
from typing import cast

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from mailroom_common.tracebacks import format_traceback

# Libraries that log contents at INFO: httpx logs whole URLs, and the URL of an OAuth callback holds its code.
_LIBRARY_LEVELS = {
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "aiokafka": logging.WARNING,
    "botocore": logging.WARNING,
}

_REPEAT_INTERVAL_S = 10.0
# While Kafka starts its partitions have no leader yet and its groups no coordinator: clients try again by themselves.
_STARTING_KAFKA = ("NotLeaderForPartitionError", "LeaderNotAvailableError", "GroupCoordinatorNotAvailableError")
_START_S = 60.0


def get_logger() -> FilteringBoundLogger:
    return cast("FilteringBoundLogger", structlog.get_logger())


def configure_logging(process: str, *, level: str = "info", instance_id: str | None = None) -> None:
    """Send our own events and those of libraries through the same lines."""
    constant_fields = {"process": process} | ({"instance_id": instance_id} if instance_id else {})

    def add_constant_fields(
        _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        return {**event, **constant_fields}

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_constant_fields,
        # Structured tracebacks repeat local variables, tokens among them, and plain ones what an error quotes.
        structlog.processors.ExceptionRenderer(format_traceback),
    ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stdout),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(_RepeatFilter())
    handler.addFilter(_StartingKafkaFilter(time.monotonic()))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    for name, minimum in _LIBRARY_LEVELS.items():
        logging.getLogger(name).setLevel(max(minimum, threshold))


class _StartingKafkaFilter(logging.Filter):
    """What a healthy start logs is no warning: for a minute aiokafka's words for a Kafka that starts are `info`."""

    def __init__(self, started_s: float) -> None:
        super().__init__()
        self._started_s = started_s

    def filter(self, record: logging.LogRecord) -> bool:
        is_starting = time.monotonic() - self._started_s < _START_S
        is_of_kafka = record.name.startswith("aiokafka") and record.levelno > logging.INFO
        if is_starting and is_of_kafka and any(error in record.getMessage() for error in _STARTING_KAFKA):
            record.levelno, record.levelname = logging.INFO, "INFO"
        return True


class _RepeatFilter(logging.Filter):
    """Drops a library's line that it logged moments ago: aiokafka says ten times a second that a broker is away."""

    def __init__(self) -> None:
        super().__init__()
        self._logged_at_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            return True  # the message may be the same, the error need not be
        line, now_s = (record.name, record.getMessage()), time.monotonic()
        if now_s - self._logged_at_s.get(line, -_REPEAT_INTERVAL_S) < _REPEAT_INTERVAL_S:
            return False
        if len(self._logged_at_s) >= 1000:
            self._logged_at_s.clear()
        self._logged_at_s[line] = now_s
        return True
