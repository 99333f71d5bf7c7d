"""The settings of a site that runs on this machine, read from the environments of its running processes."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mailroom_cli.site_api import belongs_to_this_user, find_endpoints_file
from mailroom_common.errors import SettingsError

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class SiteProcess:
    """`environment` is None where the kernel does not show it to this user."""

    name: str
    environment: Mapping[str, str] | None


def find_site_processes(proc: Path = _PROC) -> list[SiteProcess]:
    """The service processes of the site that runs here, by name; none where no site runs, or without a `/proc`.

    Raises:
        SettingsError: the site is another user's. Its settings would say where files that only this user may read
            are sent to.
    """
    file = find_endpoints_file()
    if file is None:
        return []
    here = json.loads(file.read_text())
    if not belongs_to_this_user(file, here):
        # `make up` started as root gives its site to an ordinary user, so root types this too.
        home = file.parent.parent
        raise SettingsError(f"the site of {home} is another user's; to check it: MAILROOM_HOME={home} mailroom doctor")
    return [
        SiteProcess(name, _read_environment(proc / str(pid)))
        for name, pid in sorted(here["pids"].items())
        if _runs_service(proc / str(pid), name)
    ]


def _runs_service(process: Path, name: str) -> bool:
    """Whether it is `python -m sync_engine worker` for the name `sync_engine_worker`: a site that was killed leaves a
    file behind, whose numbers are other processes' by now."""
    try:
        _, option, *words = (process / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except (OSError, ValueError):
        return False
    return option == "-m" and "_".join(words) == name


def _read_environment(process: Path) -> Mapping[str, str] | None:
    try:
        lines = (process / "environ").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    pairs = (os.fsdecode(line).partition("=") for line in lines)
    return {name: value for name, _, value in pairs if name}
