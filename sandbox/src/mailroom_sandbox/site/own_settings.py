"""Each process gets its own settings only: a secret of another service is in no environment where it is not read."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from mailroom_common.secret_files import SUFFIX
from mailroom_common.settings import PREFIX, MailroomSettings
from mailroom_sandbox.site.settings_classes import list_secrets, list_variables

SANDBOX_PREFIX = "MAILROOM_SANDBOX_"
# Variables of other clients, which hold credentials: for a process that reads one of these settings.
_CLIENT_VARIABLES = {
    "AWS_": {"MAILROOM_BLOB_URL"},
    "GOOGLE_": {"MAILROOM_BLOB_URL", "MAILROOM_PUBSUB_SUBSCRIPTION"},
    "STORAGE_": {"MAILROOM_BLOB_URL"},
    "PG": {"MAILROOM_DATABASE_URL"},
}


def select_own_settings(environment: Mapping[str, str], kinds: list[type[MailroomSettings]]) -> dict[str, str]:
    """The environment of a process that reads these classes, without what only others read.

    Without a class, as where the services are not installed, there is nothing to choose by, and everything stays.
    """
    if not kinds:
        return dict(environment)
    own = list_variables(kinds)
    return {name: value for name, value in environment.items() if _is_for(name, own)}


def select_sandbox_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """For the provider doubles, which have settings of their own and none of Mailroom's."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(SANDBOX_PREFIX) or _is_for(name, frozenset())
    }


def move_secrets_to_files(
    environment: Mapping[str, str], kinds: Iterable[type[MailroomSettings]], folder: Path
) -> dict[str, str]:
    """The environment with the path of a file in place of each secret; the files are the owner's to read."""
    secrets = list_secrets(kinds)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moved = {name: value for name, value in environment.items() if name not in secrets}
    for name in secrets & environment.keys():
        path = folder / name.removeprefix(PREFIX).lower()
        _write_privately(path, environment[name])
        moved[name + SUFFIX] = str(path)
    return moved


def _is_for(name: str, own: frozenset[str]) -> bool:
    if name.startswith(PREFIX):
        return name in own
    readers = next((readers for prefix, readers in _CLIENT_VARIABLES.items() if name.startswith(prefix)), None)
    return readers is None or bool(readers & own)


def _write_privately(path: Path, secret: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secret)
