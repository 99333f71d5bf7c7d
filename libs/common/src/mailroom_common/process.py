"""Runs one service process from start to end: settings, logs, signals, the deadline of a stop, the exit code.

Exit codes: 0 stopped cleanly; 1 something failed, and the log says what; 75 the deadline of a stop passed (kill -9 is
safe by design, so this is); 78 a setting is missing or wrong, and stderr says which.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

import uvloop

from mailroom_common.errors import Fatal, MailroomError, SettingsError
from mailroom_common.health import Health
from mailroom_common.logs import configure_logging, get_logger
from mailroom_common.settings import ProcessSettings, load_settings

log = get_logger()

EXIT_FAILED = 1
EXIT_DEADLINE = 75
EXIT_SETTINGS = 78

STOP_DEADLINE_S = 8.0
# What does not end by itself is cancelled before the deadline, so that most of a stuck stop still closes properly.
STOP_GRACE_S = 5.0

S = TypeVar("S", bound=ProcessSettings)


@dataclass(frozen=True, slots=True)
class Process:
    """What a composition root is given: when to stop, and where to register its health checks."""

    name: str
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    health: Health = field(default_factory=Health)
    has_health_port: bool = False  # health is answered on a port of its own, and not beside the API


def run_process(
    name: str,
    settings_type: type[S],
    compose: Callable[[S, Process], Awaitable[None]],
    *,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop,
) -> int:
    """Run `compose` until it returns, which it does once `stopping` is set and everything it opened is closed.

    Returns:
        the exit code, for `sys.exit`.
    """
    try:
        settings = load_settings(settings_type)
        configure_logging(name, level=settings.log_level, instance_id=settings.instance_id)
    except SettingsError as error:
        return _report_settings_error(name, error)
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            code = runner.run(_run_until_stopped(name, settings, compose))
    except Exception as error:  # noqa: BLE001  # the edge of the process: whatever it was, the exit code says so
        return _report_failure(error)
    if code == 0:
        log.info("process_stopped")
    return code


def arm_deadline() -> None:
    """End the process in `STOP_DEADLINE_S`, whatever hangs: clients of a frozen Kafka or Postgres do."""
    timer = threading.Timer(STOP_DEADLINE_S, lambda: os._exit(EXIT_DEADLINE))
    timer.daemon = True
    timer.start()


async def _run_until_stopped(name: str, settings: S, compose: Callable[[S, Process], Awaitable[None]]) -> int:
    process = Process(name, has_health_port=settings.health_port is not None)
    _stop_on_signals(process)
    log.info("process_started", http_host=settings.http_host, http_port=settings.http_port)
    work = asyncio.ensure_future(compose(settings, process))
    stop = asyncio.ensure_future(process.stopping.wait())
    try:
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            # A start-up that waits for something that is away never looks at `stopping`; it is cancelled.
            await asyncio.wait({work}, timeout=STOP_GRACE_S)
    finally:
        stop.cancel()
        if not work.done():
            work.cancel()
    # Closing the loop waits for threads and tasks, some of which never end, after a failure too. So the deadline is
    # armed, and a failure is logged, before that.
    try:
        await work
    except asyncio.CancelledError:
        # The work did not end within its grace period and was cancelled; what it held is done again after the next
        # start.
        log.warning("process_work_cancelled", grace_s=STOP_GRACE_S)
        return 0
    except SettingsError as error:
        return _report_settings_error(name, error)
    except BaseExceptionGroup as group:
        if settings_errors := group.subgroup(SettingsError):
            return _report_settings_error(name, next(_flatten_group(settings_errors)))
        return _report_failure(group)
    except Exception as error:  # noqa: BLE001  # as above
        return _report_failure(error)
    finally:
        arm_deadline()
    return 0


def _stop_on_signals(process: Process) -> None:
    loop = asyncio.get_running_loop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        # The deadline is armed first: nothing that follows may prevent the end. It is a plain handler and not the
        # loop's, since it has to work when the loop hangs.
        arm_deadline()
        loop.call_soon_threadsafe(process.stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _report_settings_error(name: str, error: BaseException) -> int:
    sys.stderr.write(f"{name}: {error}\n")
    return EXIT_SETTINGS


def _report_failure(error: BaseException) -> int:
    """A `Fatal` says what to do next and needs no traceback; everything else is logged with one."""
    group = error if isinstance(error, BaseExceptionGroup) else BaseExceptionGroup("", [error])
    fatal, rest = group.split(Fatal)
    for one in _flatten_group(fatal) if fatal else ():
        # The process ends with an exit code other than 0, and whoever supervises it starts it again.
        log.error("process_failed", reason=str(one))
    if rest is not None:
        # Texts of our own errors may be logged; of others the kind says already at the line's begin what it was.
        reasons = [str(one) if isinstance(one, MailroomError) else type(one).__name__ for one in _flatten_group(rest)]
        log.error("process_failed", reason="; ".join(reasons), exc_info=rest if rest is not group else error)
    return EXIT_FAILED


def _flatten_group(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flatten_group(error)
        else:
            yield error
