"""A site that is started as root does not stay root. What only root can show is shown where the tests run as root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from mailroom_sandbox.site import privileges
from mailroom_sandbox.site.stack.home import Home
from mailroom_sandbox.site.stack.postgres import NOBODY, has_user_namespaces

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

_SCRIPT = """
import os, sys
from pathlib import Path
from mailroom_sandbox.site.privileges import start_as
from mailroom_sandbox.site.stack.home import Home
if os.geteuid() == 0:
    start_as(Home(Path(sys.argv[1])), int(sys.argv[2]) if sys.argv[2] else None)
capabilities = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")]
print(os.geteuid(), os.getgroups() if sys.argv[2] else "", capabilities[0])
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where others than its owner can come, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="mailroom-user-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _run_as(folder: Path, user: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(folder), user], capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.strip()


@as_root
def test_root_becomes_the_user_without_its_groups_and_capabilities(open_folder: Path) -> None:
    assert _run_as(open_folder, str(NOBODY)) == f"{NOBODY} [] 0000000000000000"


@as_root
@pytest.mark.skipif(not has_user_namespaces(), reason="this kernel or container allows no user namespaces")
def test_in_a_namespace_root_has_no_capabilities_either(open_folder: Path) -> None:
    assert _run_as(open_folder, "").split() == ["1000", "0000000000000000"]


@as_root
def test_user_who_cannot_read_what_is_needed_is_not_taken(open_folder: Path) -> None:
    secret, shut = open_folder / "secret", open_folder / "shut"
    secret.write_text("x")
    shut.mkdir()
    assert privileges.can_use(NOBODY, [open_folder, secret])
    secret.chmod(0o600)
    shut.chmod(0o700)
    assert not privileges.can_use(NOBODY, [secret])
    assert not privileges.can_use(NOBODY, [shut])


def test_ordinary_user_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    privileges.drop_root(Home(tmp_path), Console())
    assert list(tmp_path.iterdir()) == []


def test_owner_of_the_checkout_comes_before_whoever_called_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert privileges.choose_user(tmp_path) == (tmp_path.stat().st_uid or NOBODY)
    monkeypatch.setenv("SUDO_UID", "4711")
    assert privileges.choose_user(tmp_path) == (tmp_path.stat().st_uid or 4711)


def test_state_is_for_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "state")
    home.path.mkdir(mode=0o755)
    home.make_private()
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_files_that_settings_name_are_among_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.write_text("x")
    monkeypatch.setenv("MAILROOM_API_KEYS_FILE", str(key))
    assert key in privileges.list_settings_files()
