"""A site that is started as root does not run as root: it gives its state to an ordinary user and goes on as that one.

Where that user cannot come to the checkout or to the state (below `/root`, say), a user namespace takes root's
capabilities instead, and its files stay within reach; where the kernel has none either, the run goes on and says so.
"""

import asyncio
import compileall
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from mailroom_common.settings import PREFIX
from mailroom_sandbox.site.stack import jars, lock
from mailroom_sandbox.site.stack.home import Home, find_checkout
from mailroom_sandbox.site.stack.postgres import NAMESPACE, NOBODY, has_user_namespaces

# Kept over the new start of this process: with the user the kernel forgets which signal it gets when its parent ends.
_DEATH_SIGNAL = "MAILROOM_SANDBOX_DEATH_SIGNAL"
_TRY = """
import os, sys, mailroom_common, mailroom_sandbox
for path in sys.argv[1:]:
    os.chdir(path) if os.path.isdir(path) else open(path).close()
"""
_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG = 1, 2


def drop_root(home: Home, console: Console, *, needed: Iterable[Path] = ()) -> None:
    """Returns at once for an ordinary user; as root it starts this very command anew as one and does not return.

    `needed` are files and folders that the command reads, beside its settings.
    """
    _restore_death_signal()
    if os.geteuid() != 0:
        return
    with lock.hold_lock(home.lock):
        _prepare_as_root(home)
    user = choose_user(find_checkout())
    if can_use(user, [home.path.parent, *list_settings_files(), *needed]):
        _give_to(home.path, user)
        start_as(home, user)
    # Without capabilities root reads only what is its own: an earlier run may have given the state away.
    _give_to(home.path, 0)
    if has_user_namespaces():
        start_as(home, None)
    console.print("[yellow]this runs as root: no ordinary user can read the checkout, and no namespace is allowed[/]")
    # Postgres runs as this user then, and has to come to its folder.
    os.chown(home.path, NOBODY, NOBODY)


def choose_user(checkout: Path) -> int:
    """Whose checkout it is, else who called sudo, else nobody."""
    owner = checkout.stat().st_uid
    return owner or int(os.environ.get("SUDO_UID", "0")) or NOBODY


def list_settings_files() -> list[Path]:
    """`.env`, and the files of secrets: often for root's eyes only."""
    named = [value for name, value in os.environ.items() if name.startswith(PREFIX) and name.endswith("_FILE")]
    return [path for path in (find_checkout() / ".env", *map(Path, named)) if path.exists()]


def can_use(user: int, paths: list[Path]) -> bool:
    """Whether the user can run this Python with these packages, read the files and enter the folders."""
    command = [sys.executable, "-c", _TRY, *map(str, paths)]
    try:
        found = subprocess.run(
            command, user=user, group=user, extra_groups=[], cwd="/", capture_output=True, check=False
        )
    except OSError:  # the Python or the folder is out of its reach
        return False
    return found.returncode == 0


def _prepare_as_root(home: Home) -> None:
    """What an ordinary user could not do: fetch with root's caches, and compile modules beside their sources."""
    home.make_private()
    asyncio.run(jars.provide_jars(home.jars))
    for folder in ("libs", "services", "cli", "sandbox"):
        compileall.compile_dir(find_checkout() / folder, quiet=2, maxlevels=20)


def _give_to(path: Path, user: int) -> None:
    for found in (path, *path.rglob("*")):
        os.chown(found, user, user, follow_symlinks=False)


def start_as(home: Home, user: int | None) -> NoReturn:
    environment = {**os.environ, "HOME": str(home.path), _DEATH_SIGNAL: str(_read_death_signal())}
    """This process begins again with the same command, as `user`, or with None in a namespace without capabilities."""
    command = [sys.executable, *sys.orig_argv[1:]]
    if user is None:
        os.execvpe(NAMESPACE[0], [*NAMESPACE, *command], {**environment, "HOME": os.environ.get("HOME", "/")})  # noqa: S606  # no shell is wanted
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    os.execve(sys.executable, command, environment)  # noqa: S606  # as above


def _read_death_signal() -> int:
    number = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0)
    return number.value


def _restore_death_signal() -> None:
    if (number := int(os.environ.pop(_DEATH_SIGNAL, "0"))) != 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
