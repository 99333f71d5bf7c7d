"""The settings: every field of every settings class, with its default and the processes that read it."""

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from mailroom_common.secret_files import SUFFIX, is_secret
from mailroom_common.settings import PREFIX, MailroomSettings, ProcessSettings
from reference.sources import Section, Source, format_table, read_sources

_SETTINGS_FOLDERS = ("libs/*/src", "services/*/src", "cli/src")


@dataclass(slots=True)
class _Setting:
    meaning: str = ""
    is_secret: bool = False
    readers: dict[str, str] = field(default_factory=dict)  # default, by who reads it


def read_settings(root: Path) -> Section:
    settings: dict[str, _Setting] = {}
    sources = {source.module: source for source in read_sources(root, _SETTINGS_FOLDERS) if _is_settings(source)}
    for module in sources:
        for kind in _settings_classes(module):
            for name, info in kind.model_fields.items():
                setting = settings.setdefault(PREFIX + name.upper(), _Setting())
                setting.readers[_reader(kind)] = _format_default(info)
                setting.is_secret = is_secret(info)
                setting.meaning = setting.meaning or _find_meaning(kind, name, sources)
    rows = [
        [
            _format_variable(variable, setting),
            _format_defaults(setting),
            setting.meaning,
            ", ".join(sorted(setting.readers)),
        ]
        for variable, setting in sorted(settings.items())
    ]
    gaps = [
        f"setting: {variable} has no comment" for variable, setting in sorted(settings.items()) if not setting.meaning
    ]
    text = (
        "## Settings\n\nEnvironment variables; a process ignores those that it does not know. A secret may also\n"
        "come as a file: `NAME_FILE` is its path, a newline at its end is no part of it, and both are an error.\n\n"
    )
    return Section(text + format_table(("variable", "default", "meaning", "read by"), rows), gaps)


def _format_variable(variable: str, setting: _Setting) -> str:
    return f"`{variable}`, `{variable}{SUFFIX}`" if setting.is_secret else f"`{variable}`"


def _is_settings(source: Source) -> bool:
    return source.module.split(".")[-1] == "settings"


def _settings_classes(module: str) -> Iterator[type[MailroomSettings]]:
    """Those that a process or a provider package reads; what they are mixed from is none."""
    for value in vars(importlib.import_module(module)).values():
        is_settings = isinstance(value, type) and issubclass(value, MailroomSettings) and value.__module__ == module
        if is_settings and (not module.startswith("mailroom_common") and value is not ProcessSettings):
            yield value


def _reader(kind: type[MailroomSettings]) -> str:
    """`sync_engine.settings.WorkerSettings` → `sync-engine worker`."""
    package = kind.__module__.split(".")[0].replace("_", "-")
    if not issubclass(kind, ProcessSettings):
        return package
    name = kind.__name__.removesuffix("Settings")
    return f"{package} {'api' if name.endswith('API') else name.lower()}".strip()


def _format_default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    default: Any = info.get_default(call_default_factory=True)  # Any: whatever type the field has
    if default is None or default == "" or default == {}:
        return ""
    return "secret" if isinstance(default, SecretStr) else f"`{default}`"


def _format_defaults(setting: _Setting) -> str:
    if len(set(setting.readers.values())) == 1:
        return next(iter(setting.readers.values()))
    return ", ".join(f"{default or 'none'} ({reader})" for reader, default in sorted(setting.readers.items()))


def _find_meaning(kind: type[MailroomSettings], name: str, sources: dict[str, Source]) -> str:
    """The comment beside the field, in the class itself or the nearest one that it is made of."""
    for base in kind.__mro__:
        source = sources.get(base.__module__)
        if source is None or name not in base.__annotations__:
            continue
        for statement in _class_body(source, base.__name__):
            is_field = isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name
            if is_field and (meaning := source.comment_beside(statement)):
                return meaning
    return ""


def _class_body(source: Source, name: str) -> list[ast.stmt]:
    return next(node.body for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef) and node.name == name)
