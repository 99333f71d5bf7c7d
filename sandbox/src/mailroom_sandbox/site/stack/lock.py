"""One run at a time on one state folder.

A second Kafka on the same data writes into the first one's metadata log before it fails, so the lock is taken before
anything else is looked at, and it is held by the kernel: it goes with its holder, however that one ends.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from mailroom_common.errors import Fatal


class AlreadyRunning(Fatal):
    pass


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Raises AlreadyRunning, which names the holder, when another process holds it; Fatal when it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fatal(f"{path.parent} cannot be made ({error.strerror}): MAILROOM_HOME names another place") from error
    with path.open("a+") as file:  # not inherited by children: the lock is this process's alone
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            raise AlreadyRunning(
                f"{_describe_holder(path)} already runs on {path.parent}; stop it first, or set MAILROOM_HOME"
            ) from busy
        file.truncate(0)
        json.dump({"pid": os.getpid(), "command": " ".join(sys.argv), "since": _format_now()}, file)
        file.flush()
        yield
        file.truncate(0)


def find_holder(path: Path) -> int | None:
    """The process that holds it now, None when nobody does."""
    try:
        with hold_lock(path):
            return None
    except AlreadyRunning:
        return int(json.loads(path.read_text())["pid"])


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _describe_holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text())
    except ValueError:  # it has just taken the lock and not yet written its name
        return "another process"
    return f"process {holder['pid']} ({holder['command']}, since {holder['since']})"
