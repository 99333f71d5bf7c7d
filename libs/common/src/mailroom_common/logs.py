"""JSON lines on stdout: a constant event name, facts as fields, ids and never contents."""

import logging
import sys
import time
from typing import cast

import structlog
from structlog.typing import FilteringBoundLogger, Processor

# Libraries that write more than facts at INFO: httpx logs whole URLs, and a callback's URL holds a code.
_QUIET = {
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "aiokafka": logging.WARNING,
    "botocore": logging.WARNING,
}

_SAID_AGAIN_AFTER_S = 10.0


def get_logger() -> FilteringBoundLogger:
    return cast("FilteringBoundLogger", structlog.get_logger())


def configure_logging(process: str, *, level: str = "info", instance_id: str | None = None) -> None:
    """Send our own events and those of libraries through the same lines."""
    always = {"process": process} | ({"instance_id": instance_id} if instance_id else {})

    def named(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {**event, **always}

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        named,
        # Plain tracebacks: the structured ones repeat local variables, tokens among them.
        structlog.processors.format_exc_info,
    ]
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stdout),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(_NotAtOnceAgain())
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
    for name, quiet in _QUIET.items():
        logging.getLogger(name).setLevel(max(quiet, threshold))


class _NotAtOnceAgain(logging.Filter):
    """Of libraries only: aiokafka says ten times a second, and per connection, that a broker is away."""

    def __init__(self) -> None:
        super().__init__()
        self._said_at_s: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            return True  # the message may be the same, the error need not be
        said, now_s = (record.name, record.getMessage()), time.monotonic()
        if now_s - self._said_at_s.get(said, -_SAID_AGAIN_AFTER_S) < _SAID_AGAIN_AFTER_S:
            return False
        if len(self._said_at_s) >= 1000:
            self._said_at_s.clear()
        self._said_at_s[said] = now_s
        return True
