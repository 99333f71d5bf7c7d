import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from mailroom_sandbox.site.stack import child

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
WITH_FAMILY = """
import subprocess, time
print(subprocess.Popen(["sleep", "60"], start_new_session=True).pid, flush=True)
time.sleep(60)
"""
PARENT = """
import pathlib, sys, time
from mailroom_sandbox.site.stack import child
print(child.spawn_process("sleeper", ["sleep", "60"], log=pathlib.Path(sys.argv[1])).pid, flush=True)
time.sleep(60)
"""


def test_child_is_gone_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    _wait_until_gone(pid)


async def test_stubborn_child_is_killed_after_its_grace(tmp_path: Path) -> None:
    stubborn = child.spawn_process("stubborn", [sys.executable, "-c", STUBBORN], log=tmp_path / "log")
    _until_logged(tmp_path / "log")
    assert await stubborn.stop_process(signal.SIGTERM, 0.3) == -signal.SIGKILL


async def test_frozen_child_stops_in_order(tmp_path: Path) -> None:
    frozen = child.spawn_process("frozen", ["sleep", "60"], log=tmp_path / "log")
    os.kill(frozen.pid, signal.SIGSTOP)
    assert await frozen.stop_process(signal.SIGTERM, 5) == -signal.SIGTERM


async def test_killing_takes_descendants_in_sessions_of_their_own(tmp_path: Path) -> None:
    family = child.spawn_process("family", [sys.executable, "-c", WITH_FAMILY], log=tmp_path / "log")
    grandchild = int(_until_logged(tmp_path / "log"))
    family.kill_process()
    await family.wait_for_exit()
    _wait_until_gone(grandchild)


def test_each_start_begins_a_log_and_keeps_the_last_ones(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    for start in range(6):
        child.rotate_log(log)
        log.write_text(f"start {start}\n")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "x.log": "start 5\n",
        "x.log.1": "start 4\n",
        "x.log.2": "start 3\n",
        "x.log.3": "start 2\n",
    }


def _until_logged(log: Path) -> str:
    deadline = time.monotonic() + 10
    while not log.read_text().endswith("\n"):
        assert time.monotonic() < deadline, f"nothing in {log}"
        time.sleep(0.02)
    return log.read_text().strip()


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} is still here"
        time.sleep(0.02)
