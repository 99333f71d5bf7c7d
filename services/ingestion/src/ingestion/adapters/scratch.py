"""The folder where a worker keeps a document while it reads it. It goes with the process, however that ends."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mailroom_common.logs import get_logger

log = get_logger()

_PREFIX = "mailroom-documents-"
_OWNER = "owner"


@contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """A folder of this process's own below `beside`. Folders there whose process was killed are removed first.

    The owner's lock tells them from those of workers that live: it goes with a process that is killed. A folder gets
    its name once the lock is held, so that nobody finds it without.
    """
    _sweep(beside)
    folder = Path(tempfile.mkdtemp(prefix="mailroom-new-", dir=beside))
    try:
        with (folder / _OWNER).open("wb") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            folder = folder.rename(folder.with_name(folder.name.replace("mailroom-new-", _PREFIX, 1)))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(beside: Path) -> None:
    for folder in beside.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or another worker's that is faster
            found = folder.lstat()
            if found.st_uid != os.geteuid():
                continue
            with (folder / _OWNER).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                log.info("scratch_of_a_killed_worker_removed", folder=folder.name)
