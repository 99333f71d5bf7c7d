import os
from pathlib import Path

import psutil
import pytest

from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import find_class_archive
from mailroom_sandbox.testkit.pytest_plugin import runs_in_containers


@pytest.mark.stack
def test_broker_takes_its_classes_from_the_archive(kafka_bootstrap: str) -> None:
    if os.environ.get("MAILROOM_TEST_KAFKA") or runs_in_containers():
        pytest.skip("the broker is none of this machine's processes")
    archive = find_class_archive(find_home().jars)
    assert archive.stat().st_mode & 0o022 == 0, "what the JVM runs is the owner's alone to write"
    listens = f"listeners=CLIENTS://{kafka_bootstrap}"
    # One for all processes of a run: whichever asked first has started it.
    brokers = [process for process in psutil.process_iter() if listens in read_settings(process)]
    assert [str(archive) in {found.path for found in broker.memory_maps()} for broker in brokers] == [True]


def read_settings(process: psutil.Process) -> str:
    """Of a broker; of another process, of another user's and of one that has ended, there are none."""
    try:
        return (Path(process.cwd()) / "server.properties").read_text()
    except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, NotADirectoryError, PermissionError):
        return ""
