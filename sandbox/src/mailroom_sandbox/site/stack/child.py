"""Processes of ours: in a session of their own, with a log, and gone when we are gone, however we end."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_KEPT_LOGS = 3
# Loaded before any fork: between fork and exec nothing may allocate or lock.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    popen: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_running(self) -> bool:
        return self.popen.poll() is None

    async def wait_for_exit(self) -> int:
        """Waits for the end without a thread; negative for a signal, as `subprocess` says it."""
        if self.popen.poll() is None:
            await _wait_for_pidfd(self.pid)
        return self.popen.wait()

    async def stop_process(self, polite: signal.Signals, grace_s: float) -> int:
        """Asks, waits, then kills whatever is left of its session and of its descendants."""
        if self.popen.poll() is None:
            self._send_signal(polite)
            self.resume_process()  # a frozen process takes no signal but this one; it then finds the polite one waiting
        try:
            return await asyncio.wait_for(self.wait_for_exit(), grace_s)
        except TimeoutError:
            self.kill_process()
            return await self.wait_for_exit()
        finally:
            self._kill_group()

    def resume_process(self) -> None:
        if self.popen.poll() is None:
            self._send_signal(signal.SIGCONT)

    def kill_process(self) -> None:
        """Kills descendants too: Postgres and the parser start their children in sessions of their own."""
        for process in self._list_descendants():
            _ignore_gone(process.kill)
        self._kill_group()

    def _list_descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _send_signal(self, number: signal.Signals) -> None:
        _ignore_gone(lambda: self.popen.send_signal(number))

    def _kill_group(self) -> None:
        _ignore_gone(lambda: os.killpg(self.pid, signal.SIGKILL))


def spawn_process(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: int | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> Child:
    """Starts a process that gets `death_signal` when this one ends.

    The kernel sends it when the *thread* that spawned ends, so call this from the main thread.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        popen = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            start_new_session=True,  # Ctrl-C is ours: it must not reach the stack before the services
            preexec_fn=_dies_with(os.getpid(), death_signal),
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    return Child(name, popen)


def rotate_log(log: Path) -> None:
    """A start begins a new log; the last few are kept as `name.log.1` and so on, 1 the youngest."""
    for number in range(_KEPT_LOGS, 0, -1):
        older = log.with_name(f"{log.name}.{number}")
        newer = log if number == 1 else log.with_name(f"{log.name}.{number - 1}")
        if newer.exists():
            newer.replace(older)


def read_tail(log: Path, lines: int = 15) -> str:
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def _dies_with(parent: int, number: signal.Signals) -> Callable[[], None] | None:
    if _libc is None:
        return None
    libc = _libc

    def set_death_signal() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before we could ask
            os._exit(1)

    return set_death_signal


async def _wait_for_pidfd(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: None if ended.done() else ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _ignore_gone(call: Callable[[], object]) -> None:
    try:
        call()
    except (ProcessLookupError, PermissionError, psutil.NoSuchProcess):
        return  # it ended by itself, which is what was asked for
