import os
import signal
import subprocess
import sys
from pathlib import Path

from mailroom_common.parser.scratch_folder import open_scratch_folder

_WORKER = """
import sys
from pathlib import Path
from mailroom_common.parser.scratch_folder import open_scratch_folder
with open_scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "document").write_text("somebody's invoice")
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_folder_is_gone_with_its_worker(tmp_path: Path) -> None:
    with open_scratch_folder(tmp_path) as folder:
        (folder / "document").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_documents_of_a_killed_worker_go_with_the_next_start_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    killed, living = _worker(tmp_path), _worker(tmp_path)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert len(list(tmp_path.glob("*/document"))) == 2
    with open_scratch_folder(tmp_path):
        assert len(list(tmp_path.glob("*/document"))) == 1
    living.communicate()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_workers_folder_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "owner").touch()
    (tmp_path / "mailroom-documents-link").symlink_to(other)
    (tmp_path / "mailroom-documents-file").touch()
    with open_scratch_folder(tmp_path):
        assert (other / "owner").exists()


def _worker(beside: Path) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER, str(beside)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == b"ready\n"
    return worker
