import subprocess
import sys
from pathlib import Path

import pytest

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import lock

HOLDER = """
import pathlib, sys
from mailroom_sandbox.site.stack import lock
with lock.hold_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_run_is_refused_and_told_who_holds_the_state(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    refused = pytest.raises(lock.AlreadyRunning, match=f"process {holder.pid} .* already runs on {tmp_path}")
    with refused, lock.hold_lock(tmp_path / "lock"):
        pytest.fail("two hold the lock")
    assert lock.find_holder(tmp_path / "lock") == holder.pid
    holder.communicate()


def test_lock_goes_with_a_killed_holder(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    holder.kill()
    holder.communicate()
    assert lock.find_holder(tmp_path / "lock") is None
    with lock.hold_lock(tmp_path / "lock"):
        assert lock.find_holder(tmp_path / "lock") is not None


def test_lock_is_not_inherited_by_children(tmp_path: Path) -> None:
    with lock.hold_lock(tmp_path / "lock"):
        sleeper = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        assert lock.find_holder(tmp_path / "lock") is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_state_that_cannot_be_made_ends_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(Fatal, match="MAILROOM_HOME names another place"),
        lock.hold_lock(tmp_path / "file" / "x" / "lock"),
    ):
        pass
