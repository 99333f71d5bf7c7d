"""Secrets as files: what the setting NAME may hold can also come as `NAME_FILE`, the path of a file that holds it.

Orchestrators mount secrets as files, which no child process inherits and no process listing shows.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

SUFFIX = "_FILE"
_REFUSED = object()

# Where secrets lie that the libraries of cloud providers, Kafka and Postgres read by themselves.
_FILE_PREFIXES = ("MAILROOM_", "AWS_", "AZURE_")
_OTHER_VARIABLES = ("MAILROOM_KAFKA_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "PGPASSFILE")
_USUAL_PATHS = ("~/.aws", "~/.config/gcloud", "~/.azure", "~/.pgpass", "/var/run/secrets")


def is_secret(info: FieldInfo) -> bool:
    """Whether the setting may come as a file: it is a `SecretStr`, perhaps an optional one."""
    return SecretStr in (info.annotation, *get_args(info.annotation))


def find_secret_paths(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Files and folders with secrets of this process, whether or not they are there."""
    named = [Path(path) for variable, path in environment.items() if path and _names_secret(variable)]
    return sorted({path.absolute() for path in [*named, *_list_usual_paths()]})


def _names_secret(variable: str) -> bool:
    return variable in _OTHER_VARIABLES or (variable.startswith(_FILE_PREFIXES) and variable.endswith(SUFFIX))


def _list_usual_paths() -> list[Path]:
    try:
        return [Path(path).expanduser() for path in _USUAL_PATHS]
    except RuntimeError:  # a user without a home has none there
        return [Path(path) for path in _USUAL_PATHS if path.startswith("/")]


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """`values` and `mistakes` are by the field's name; a mistake is a sentence that never repeats a secret."""

    values: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)


def read_secret_files(kind: type[BaseSettings], environment: Mapping[str, str] = os.environ) -> SecretFiles:
    found = SecretFiles()
    for name, info in kind.model_fields.items():
        variable = f"{kind.model_config.get('env_prefix', '')}{name}".upper()
        path = environment.get(variable + SUFFIX)
        if not path or not is_secret(info):
            continue
        if environment.get(variable):
            found.mistakes[name] = f"{variable} and {variable}{SUFFIX} are both set: keep one of them."
            continue
        try:
            found.values[name] = _read_secret(Path(path))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            found.mistakes[name] = f"{variable}{SUFFIX} is wrong: {path}: {reason}."
    return found


def _read_secret(path: Path) -> str:
    try:
        # A file that an editor or `echo` wrote ends with a newline, which is no part of the secret.
        secret = path.read_text(encoding="utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8 text") from None  # the decoder's error repeats what it read
    if not secret:
        raise ValueError("the file is empty")
    return secret


class SecretFilesSource(PydanticBaseSettingsSource):
    """Has pydantic read the files.

    Mistakes are `load_settings`' to report. Here such a field gets what it refuses: it counts as wrong and not as
    missing, so that no rule over several settings asks for it.
    """

    def __call__(self) -> dict[str, Any]:
        found = read_secret_files(self.settings_cls)
        return {**found.values, **dict.fromkeys(found.mistakes, _REFUSED)}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("all files are read at once by `__call__`")
