import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from mailroom_common.errors import SettingsError
from mailroom_sandbox.site.stack import child
from mailroom_sandbox.site.supervisor import Program, Supervisor

SLEEPER = "import time; time.sleep(60)"
UNSET = "import sys; sys.stderr.write('MAILROOM_KAFKA_BOOTSTRAP is not set.\\n'); sys.exit(78)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
CRASHING = "raise SystemExit(1)"


class Observed:
    def __init__(self) -> None:
        self.pids: dict[str, int] = {}
        self.deaths: list[tuple[str, int]] = []
        self.supervisor = Supervisor(on_change=self._changed, on_death=lambda *death: self.deaths.append(death))
        self._news = asyncio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def _changed(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self._news.set()


def program(name: str, code: str, folder: Path) -> Program:
    log = folder / f"{name}.log"
    return Program(name, lambda: child.spawn_process(name, [sys.executable, "-c", code], log=log), log)


async def test_what_dies_is_started_again_under_a_new_id(tmp_path: Path) -> None:
    observed = Observed()
    observed.supervisor.keep_running(program("worker", SLEEPER, tmp_path))
    first = observed.pids["worker"]
    os.kill(first, signal.SIGKILL)
    await observed.until(lambda: observed.pids["worker"] != first)
    assert observed.deaths == [("worker", -signal.SIGKILL)]
    await observed.supervisor.stop_programs(["worker"], 5)
    assert not psutil.pid_exists(observed.pids["worker"])


async def test_pauses_between_starts_grow(tmp_path: Path) -> None:
    observed = Observed()
    started_at_s: list[float] = []
    crashing = program("crashing", CRASHING, tmp_path)

    def start() -> child.Child:
        started_at_s.append(asyncio.get_running_loop().time())
        return crashing.start()

    observed.supervisor.keep_running(Program("crashing", start, crashing.log))
    await observed.until(lambda: len(started_at_s) == 4)
    await observed.supervisor.stop_programs(["crashing"], 5)
    second, third = started_at_s[2] - started_at_s[1], started_at_s[3] - started_at_s[2]
    assert second >= 0.4
    assert third >= 0.8


async def test_wrong_settings_end_the_site_with_the_services_own_sentence(tmp_path: Path) -> None:
    observed = Observed()
    observed.supervisor.keep_running(program("gateway", UNSET, tmp_path))
    with pytest.raises(SettingsError, match="gateway cannot run:\nMAILROOM_KAFKA_BOOTSTRAP is not set"):
        async with asyncio.timeout(10):
            await observed.supervisor.wait_for_failure()
    assert observed.deaths == []  # nobody is told that it is started again
    await observed.supervisor.stop_programs(["gateway"], 5)


async def test_stopping_leaves_nothing_and_starts_nothing(tmp_path: Path) -> None:
    observed = Observed()
    for name in ("one", "two", "three"):
        observed.supervisor.keep_running(program(name, SLEEPER, tmp_path))
    pids = dict(observed.pids)
    os.kill(pids["two"], signal.SIGSTOP)
    os.kill(pids["three"], signal.SIGKILL)  # is between death and restart when the stop comes
    await observed.supervisor.stop_programs(["one", "two", "three"], 5)
    assert observed.supervisor.pids == {}
    assert not any(psutil.pid_exists(pid) for pid in pids.values())


async def test_impatience_kills_at_once(tmp_path: Path) -> None:
    observed = Observed()
    observed.supervisor.keep_running(program("stubborn", STUBBORN, tmp_path))
    _until_logged(tmp_path / "stubborn.log")
    stopping = asyncio.create_task(observed.supervisor.stop_programs(["stubborn"], 60))
    await asyncio.sleep(0)
    observed.supervisor.kill_all()
    async with asyncio.timeout(5):
        await stopping


def _until_logged(log: Path) -> None:
    deadline = time.monotonic() + 10
    while not log.read_text():
        assert time.monotonic() < deadline, f"nothing in {log}"
        time.sleep(0.02)
