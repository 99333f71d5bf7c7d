"""Checks the settings of all processes of a site before anything is started, and names all faults at once."""

import difflib
import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

from pydantic import SecretStr

from mailroom_common.auth import APIKeys
from mailroom_common.errors import SettingsError
from mailroom_common.settings import PREFIX, MailroomSettings, ProcessSettings, load_settings
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_sandbox.site.environment import SiteEnvironment
from mailroom_sandbox.site.given_settings import GivenSettings
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.variables import FOREIGN_PREFIXES, SITE_VARIABLES

_PROVIDER_MODULES = ("mailroom_outlook.settings", "mailroom_gmail.settings")
# Beside those of the services; the CLI's count as known and are checked by its own commands.
_OTHER_MODULES = (*_PROVIDER_MODULES, "mailroom_cli.settings")
_KEY_PARSERS: Mapping[str, Callable[[str], object]] = {
    "MAILROOM_API_KEYS": APIKeys.parse_keys,
    "MAILROOM_TOKEN_KEYS": SealingKeys.parse_keys,
}
_VARIABLE = re.compile(rf"{PREFIX}[A-Z0-9_]+")


def check_settings(given: GivenSettings, site: SiteEnvironment, ports: Mapping[str, int]) -> None:
    """`site` is the environment that the services will get.

    Raises:
        SettingsError: one line for each fault, with its variable, and with file and line where a file has it.
    """
    mistakes = [*given.mistakes, *_find_unknown_variables(given)]
    for service in SERVICES:
        kinds = _list_settings_classes(f"{service.module}.settings")
        own = [kind for kind in kinds if service.role is None or _is_of_role(kind, service.role)]
        mistakes += _find_mistakes(own, site.build_service_environment(service, ports))
    for module in _PROVIDER_MODULES:
        mistakes += _find_mistakes(_list_settings_classes(module), site.shared)
    mistakes += _find_malformed_keys(site.shared)
    if mistakes:
        # The same variable may be wrong for several processes: it is named once.
        lines = [f"  {_name_place(mistake, given)}" for mistake in dict.fromkeys(mistakes)]
        raise SettingsError("nothing was started, since these settings are wrong:\n" + "\n".join(lines))


def list_known_variables() -> frozenset[str]:
    """Every variable that a process of Mailroom, its CLI or the site reads."""
    modules = (*(f"{service.module}.settings" for service in SERVICES), *_OTHER_MODULES)
    known = set(SITE_VARIABLES)
    for kind in (kind for module in modules for kind in _list_settings_classes(module)):
        for name, field in kind.model_fields.items():
            variable = PREFIX + name.upper()
            known.add(variable)
            if SecretStr in (field.annotation, *get_args(field.annotation)):
                known.add(f"{variable}_FILE")
    return frozenset(known)


def _find_unknown_variables(given: GivenSettings) -> Iterator[str]:
    known = list_known_variables()
    for name in sorted(given.values):
        if not name.startswith(PREFIX) or name in known or name.startswith(FOREIGN_PREFIXES):
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        advice = f"did you mean {close[0]}?" if close else "docs/settings.md lists all."
        yield f"{name} is no setting of Mailroom: {advice}"


def _find_mistakes(kinds: list[type[MailroomSettings]], environment: Mapping[str, str]) -> Iterator[str]:
    with _replace_environment(environment):
        for kind in kinds:
            try:
                load_settings(kind)
            except SettingsError as error:
                yield from error.mistakes


def _find_malformed_keys(environment: Mapping[str, str]) -> Iterator[str]:
    """What the services parse once they run, and not with their settings."""
    for name, parse in _KEY_PARSERS.items():
        try:
            parse(environment.get(name, ""))
        except SettingsError as error:
            yield from error.mistakes


def _name_place(mistake: str, given: GivenSettings) -> str:
    """The sentence, with file and line of the first variable in it that came from a file."""
    places = [given.lines[name] for name in _VARIABLE.findall(mistake) if name in given.lines]
    return f"{mistake} ({places[0]})" if places else mistake


def _list_settings_classes(module: str) -> list[type[MailroomSettings]]:
    """Those written in the module; a module that is not there has none.

    By name, as the site starts the services: the sandbox is installed without them.
    """
    try:
        found = vars(importlib.import_module(module)).values()
    except ModuleNotFoundError as error:
        if error.name is not None and module.startswith(error.name):
            return []
        raise
    return [
        value
        for value in found
        if isinstance(value, type) and issubclass(value, MailroomSettings) and value.__module__ == module
    ]


def _is_of_role(kind: type[MailroomSettings], role: str) -> bool:
    """`WorkerSettings` is of the role worker, `DocumentsAPISettings` of the role api."""
    return issubclass(kind, ProcessSettings) and kind.__name__.removesuffix("Settings").lower().endswith(role)


@contextmanager
def _replace_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """The settings classes read the process's own environment; this one is about to start others."""
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
