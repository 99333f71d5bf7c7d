"""The settings: every field of every settings class, as docs/settings.md and as .env.example."""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from mailroom_common.secret_files import is_secret
from mailroom_common.settings import PREFIX, MailroomSettings, ProcessSettings
from mailroom_sandbox.site.variables import MADE_BY_THE_SITE, SITE_VARIABLES
from reference.sources import Source, format_table, read_sources

_SETTINGS_FOLDERS = ("libs/*/src", "services/*/src", "cli/src")

_PAGE_HEAD = """# Settings

Generated from the settings classes by `make reference`; a test holds that it is current.

Every setting is an environment variable. `make up` and `make run` also read `.env` in the checkout
([.env.example](../.env.example) has every name); a variable of the environment goes before its line in that file. An
empty value counts as not set. Each process checks its own settings before it does anything, and `make up` checks those
of all processes before it starts Kafka: it names every fault at once, each with its variable, and with file and line
where it came from a file.

A *secret* may also come as a file: `NAME_FILE` holds the file's path, and `NAME` stays unset.

*Required* are the variables without a default. Of those `make up` makes these up itself where they are not given:
{made}.

"""

_EXAMPLE_HEAD = """\
# Every setting of Mailroom, written by `make reference` from the settings classes. More: docs/settings.md.
# Copy it to .env, which `make up` and `make run` read, and take the `# ` from the lines that you need.
# A first mailbox needs MAILROOM_MICROSOFT_CLIENT_ID and its secret (docs/connect-microsoft.md), or
# MAILROOM_GOOGLE_CLIENT_ID, its secret and MAILROOM_PUBSUB_TOPIC (docs/connect-google.md), and MAILROOM_PUBLIC_URL with
# an address that providers reach.
"""

_SITE_GROUP = "A site on one machine"
# By the class that a setting is written in; of a class that is not here its own name is the title.
_GROUPS = {
    "OutlookSettings": "Outlook",
    "GmailSettings": "Gmail",
    "PublicSettings": "Addresses",
    "APISettings": "API",
    "KafkaSettings": "Kafka",
    "DatabaseSettings": "Postgres",
    "TokenSettings": "Postgres",
    "OptionalSealingSettings": "Postgres",
    "BlobSettings": "Files",
    "CABundleSettings": "Calls to providers",
    "TLSSettings": "Calls to providers",
    "ProviderSettings": "Calls to providers",
    "ProcessSettings": "Every process",
    "MailroomSettings": "Every process",
    "MigrateSettings": "mailroom migrate",
}
# What proves Gmail's pushes is written in the gateway's class.
_GROUP_OF_PREFIX = {"MAILROOM_PUBSUB_": "Gmail", "MAILROOM_GOOGLE_": "Gmail"}


@dataclass(slots=True)
class Setting:
    variable: str
    group: str
    meaning: str = ""
    is_secret: bool = False
    defaults: dict[str, str] = field(default_factory=dict)  # by who reads it

    @property
    def is_required(self) -> bool:
        return "required" in self.defaults.values()


@dataclass(frozen=True, slots=True)
class SettingPages:
    """docs/settings.md, .env.example, and what in them has no meaning."""

    page: str
    example: str
    gaps: list[str]


def read_settings(root: Path) -> SettingPages:
    settings = sorted(collect_settings(root), key=lambda setting: setting.variable)
    groups: dict[str, list[Setting]] = defaultdict(list)
    for setting in settings:
        groups[setting.group].append(setting)
    order = [*dict.fromkeys(_GROUPS.values()), _SITE_GROUP, *sorted(groups)]
    named = [(name, groups[name]) for name in dict.fromkeys(order) if name in groups]
    return SettingPages(
        page=_write_page(named),
        example=_write_example(named),
        gaps=[f"setting: {setting.variable} has no comment" for setting in settings if not setting.meaning],
    )


def collect_settings(root: Path) -> Iterable[Setting]:
    settings: dict[str, Setting] = {
        variable: Setting(variable, _SITE_GROUP, meaning, defaults={"make up, make run": ""})
        for variable, meaning in SITE_VARIABLES.items()
    }
    sources = {source.module: source for source in read_sources(root, _SETTINGS_FOLDERS) if _is_settings(source)}
    for module in sources:
        for kind in _settings_classes(module):
            for name, info in kind.model_fields.items():
                variable = PREFIX + name.upper()
                setting = settings.setdefault(variable, Setting(variable, _find_group(kind, name)))
                setting.defaults[_reader(kind)] = _format_default(info)
                setting.is_secret = setting.is_secret or is_secret(info)
                setting.meaning = setting.meaning or _find_meaning(kind, name, sources)
    return settings.values()


def _write_page(groups: list[tuple[str, list[Setting]]]) -> str:
    made = ", ".join(f"`{variable}`" for variable in MADE_BY_THE_SITE)
    parts = [_PAGE_HEAD.format(made=made)]
    for name, settings in groups:
        rows = [
            [
                f"`{setting.variable}`",
                _format_defaults(setting),
                setting.meaning,
                ", ".join(sorted(setting.defaults)),
            ]
            for setting in settings
        ]
        parts.append(f"## {name}\n\n{format_table(('variable', 'default', 'meaning', 'read by'), rows)}\n")
    return "".join(parts).rstrip("\n") + "\n"


def _write_example(groups: list[tuple[str, list[Setting]]]) -> str:
    parts = [_EXAMPLE_HEAD]
    for name, settings in groups:
        parts.append(f"\n## {name}\n")
        for setting in settings:
            parts += [f"\n{line}" for line in wrap(setting.meaning, 118, initial_indent="# ", subsequent_indent="# ")]
            parts.append(f"\n# {setting.variable}={_example_value(setting)}\n")
    return "".join(parts)


def _example_value(setting: Setting) -> str:
    values = {default for default in setting.defaults.values() if default.startswith("`")}
    return values.pop().strip("`") if len(values) == 1 else ""


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
    if package == "mailroom-cli":
        return f"mailroom {kind.__name__.removesuffix('Settings').lower()}"
    if not issubclass(kind, ProcessSettings):
        return package
    name = kind.__name__.removesuffix("Settings")
    return f"{package} {'api' if name.endswith('API') else name.lower()}".strip()


def _find_group(kind: type[MailroomSettings], name: str) -> str:
    for prefix, group in _GROUP_OF_PREFIX.items():
        if f"{PREFIX}{name.upper()}".startswith(prefix):
            return group
    # The last one that declares it is the one that others are made of: a service may only give it another default.
    owner = [base for base in kind.__mro__ if name in inspect.get_annotations(base)][-1]
    if owner.__name__ in _GROUPS:
        return _GROUPS[owner.__name__]
    if owner.__module__.startswith("mailroom_common"):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", owner.__name__.removesuffix("Settings")).capitalize()
    return _reader(owner)


def _format_default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    default: Any = info.get_default(call_default_factory=True)  # Any: whatever type the field has
    if default in (None, "", {}, SecretStr("")):
        return ""
    return "secret" if isinstance(default, SecretStr) else f"`{default}`"


def _format_defaults(setting: Setting) -> str:
    secret = "; a secret" if setting.is_secret else ""
    if len(set(setting.defaults.values())) == 1:
        default = next(iter(setting.defaults.values())) + secret
    else:
        defaults = sorted(setting.defaults.items())
        default = ", ".join(f"{default or 'none'} ({reader})" for reader, default in defaults) + secret
    return default.removeprefix("; ")


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
