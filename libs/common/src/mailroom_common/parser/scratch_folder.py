"""The folder where a worker keeps an untrusted file while it is read, removed with the process however that ends."""

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
_LOCK_FILE = "owner"


@contextmanager
def open_scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder of this process's own below `parent`. Folders there whose process was killed are removed first.

    The lock on a file in it tells them from those of running workers: the kernel drops it with the process. A folder
    gets its name once the lock is held, so that no other worker finds it without.
    """
    _remove_abandoned_folders(parent)
    folder = Path(tempfile.mkdtemp(prefix="mailroom-new-", dir=parent))
    try:
        with (folder / _LOCK_FILE).open("wb") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            folder = folder.rename(folder.with_name(folder.name.replace("mailroom-new-", _PREFIX, 1)))
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned_folders(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, a running worker's, or removed by another worker at this moment
            status = folder.lstat()
            if status.st_uid != os.geteuid():
                continue
            with (folder / _LOCK_FILE).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                log.info("abandoned_scratch_folder_removed", folder=folder.name)
