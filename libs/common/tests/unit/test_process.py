"""Real children: what a signal, a deadline and an exit code are cannot be had inside the test's own process."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_HEAD = """
import asyncio, sys, threading, time
from mailroom_common.errors import Fatal, SettingsError
from mailroom_common.process import Process, run_process
from mailroom_common.settings import ProcessSettings

class Settings(ProcessSettings):
    http_port: int = 8081

def say(word):
    print(word, flush=True)
"""
# What hangs is ended by the same timer as in the tests of the real deadline, and need not be waited for as long.
_SHORT_DEADLINE = """
    from mailroom_common import process as process_module
    process_module.STOP_DEADLINE_S = 1.0
"""
_TAIL = """
sys.exit(run_process("child", Settings, compose))
"""


@contextmanager
def _child(compose: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", _HEAD + textwrap.dedent(compose) + _TAIL],
        env={**{k: v for k, v in os.environ.items() if not k.startswith("MAILROOM_")}, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def _until(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        if line.strip() == word:
            return
    pytest.fail(f"the child ended before it said {word}")


def _stopped_after_s(child: subprocess.Popen[str], number: int = signal.SIGTERM) -> float:
    began = time.monotonic()
    child.send_signal(number)
    child.wait(timeout=60)
    return time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_sets_stopping_and_a_clean_end_is_0(number: int) -> None:
    compose = """
    async def compose(settings, process):
        say("up")
        await process.stopping.wait()
    """
    with _child(compose) as child:
        _until(child, "up")
        _stopped_after_s(child, number)
        assert child.returncode == 0  # past the deadline it would be 75


def test_child_that_ignores_its_cancellation_ends_with_75_within_the_deadline() -> None:
    compose = """
    async def compose(settings, process):
        say("up")
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                say("no")
    """
    with _child(compose) as child:
        _until(child, "up")
        assert _stopped_after_s(child) > 7
        assert child.returncode == 75


def test_blocked_loop_and_stuck_threads_end_with_75_too() -> None:
    compose = f"""{_SHORT_DEADLINE}
    async def compose(settings, process):
        threading.Thread(target=time.sleep, args=(3600,)).start()
        say("up")
        await asyncio.sleep(0.1)
        while True:
            time.sleep(0.1)
    """
    with _child(compose) as child:
        _until(child, "up")
        _stopped_after_s(child)
        assert child.returncode == 75


def test_sigterm_during_start_up_cancels_what_waits() -> None:
    compose = """
    async def compose(settings, process):
        say("starting")
        try:
            await asyncio.Event().wait()
        finally:
            say("closed")
    """
    with _child(compose) as child:
        _until(child, "starting")
        _stopped_after_s(child)
        _until(child, "closed")
        assert child.returncode == 0


def test_dead_task_ends_the_process_with_1_and_a_log_line() -> None:
    compose = """
    async def compose(settings, process):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(process.stopping.wait())
            tasks.create_task(fail())

    async def fail():
        raise RuntimeError("broke")
    """
    with _child(compose) as child:
        out, _ = child.communicate(timeout=60)
    line = json.loads(out.splitlines()[-1])
    assert child.returncode == 1
    assert (line["event"], line["process"], line["level"]) == ("process_failed", "child", "error")
    assert "broke" in line["exception"]


@pytest.mark.parametrize(
    ("error", "reason"), [('Unavailable("Postgres: refused")', "Postgres: refused"), ('KeyError("secret")', "KeyError")]
)
def test_any_other_error_is_logged_with_a_reason_beside_its_traceback(error: str, reason: str) -> None:
    compose = f"""
    from mailroom_common.errors import Unavailable

    async def compose(settings, process):
        raise {error}
    """
    with _child(compose) as child:
        out, _ = child.communicate(timeout=60)
    line = json.loads(out.splitlines()[-1])
    assert (line["event"], line["reason"]) == ("process_failed", reason)
    assert "Traceback" in line["exception"]


@pytest.mark.parametrize("failing", ["fail()", "in_a_group()"])
def test_fatal_is_logged_as_its_sentence(failing: str) -> None:
    compose = f"""
    async def compose(settings, process):
        await {failing}

    async def in_a_group():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(process_that_never_ends())
            tasks.create_task(fail())

    async def process_that_never_ends():
        await asyncio.Event().wait()

    async def fail():
        raise Fatal("run `mailroom migrate`")
    """
    with _child(compose) as child:
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 1
    assert json.loads(out.splitlines()[-1])["reason"] == "run `mailroom migrate`"


def test_failure_is_told_though_a_task_that_never_ends_holds_up_the_process() -> None:
    compose = f"""{_SHORT_DEADLINE}
    async def compose(settings, process):
        stuck = asyncio.create_task(never_ends())
        await asyncio.sleep(0)
        raise Fatal("out of paper")

    async def never_ends():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
    """
    with _child(compose) as child:
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 75
    assert json.loads(out.splitlines()[-1])["reason"] == "out of paper"


@pytest.mark.parametrize("port", ["eighty", "70000"])
def test_wrong_setting_is_78_with_a_sentence_on_stderr(port: str) -> None:
    with _child("async def compose(settings, process): ...", MAILROOM_HTTP_PORT=port) as child:
        _, err = child.communicate(timeout=60)
    assert child.returncode == 78
    assert err.startswith("child: MAILROOM_HTTP_PORT is wrong")


def test_settings_error_found_later_is_78_as_well() -> None:
    compose = """
    async def compose(settings, process):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    async def fail():
        raise SettingsError("MAILROOM_API_KEYS is wrong in entry 1.")
    """
    with _child(compose) as child:
        _, err = child.communicate(timeout=60)
    assert child.returncode == 78
    assert err == "child: MAILROOM_API_KEYS is wrong in entry 1.\n"
