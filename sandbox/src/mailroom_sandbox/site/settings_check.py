"""Checks the settings of all processes of a site before anything is started, and names all faults at once."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping

from mailroom_common.auth import APIKeys
from mailroom_common.errors import SettingsError
from mailroom_common.secret_files import read_secret_files
from mailroom_common.settings import (
    PREFIX,
    APISettings,
    MailroomSettings,
    TokenSettings,
    load_settings,
    replace_environment,
)
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_sandbox.site.environment import SiteEnvironment, find_port_mistakes
from mailroom_sandbox.site.given_settings import GivenSettings
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.settings_classes import (
    CLI_MODULE,
    PROVIDER_MODULES,
    list_service_classes,
    list_settings_classes,
    list_variables,
)
from mailroom_sandbox.site.variables import FOREIGN_PREFIXES, SITE_VARIABLES

_KEY_PARSERS: Mapping[str, tuple[type[MailroomSettings], Callable[[str], object]]] = {
    "api_keys": (APISettings, APIKeys.parse_keys),
    "token_keys": (TokenSettings, SealingKeys.parse_keys),
}
_VARIABLE = re.compile(rf"{PREFIX}[A-Z0-9_]+")


def check_settings(given: GivenSettings, site: SiteEnvironment, ports: Mapping[str, int]) -> None:
    """`site` is the environment that the services will get.

    Raises:
        SettingsError: one line for each fault, with its variable, and with file and line where a file has it.
    """
    mistakes = [*given.mistakes, *_find_unknown_variables(given), *find_port_mistakes(given.values)]
    for service in SERVICES:
        own = list_service_classes(service)
        mistakes += _find_mistakes(own, site.build_service_environment(service, ports))
    for module in PROVIDER_MODULES:
        mistakes += _find_mistakes(list_settings_classes(module), site.shared)
    mistakes += _find_malformed_keys(site.shared)
    if mistakes:
        # The same variable may be wrong for several processes: it is named once.
        lines = [f"  {_name_place(mistake, given)}" for mistake in dict.fromkeys(mistakes)]
        raise SettingsError("nothing was started, since these settings are wrong:\n" + "\n".join(lines))


def list_known_variables() -> frozenset[str]:
    """Every variable that a process of Mailroom, its CLI or the site reads."""
    # The CLI's count as known, and are checked by its own commands.
    modules = (*(f"{service.module}.settings" for service in SERVICES), *PROVIDER_MODULES, CLI_MODULE)
    kinds = [kind for module in modules for kind in list_settings_classes(module)]
    return list_variables(kinds) | SITE_VARIABLES.keys()


def _find_unknown_variables(given: GivenSettings) -> Iterator[str]:
    known = list_known_variables()
    for name in sorted(given.values):
        if not name.startswith(PREFIX) or name in known or name.startswith(FOREIGN_PREFIXES):
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        advice = f"did you mean {close[0]}?" if close else "docs/settings.md lists all."
        yield f"{name} is no setting of Mailroom: {advice}"


def _find_mistakes(kinds: list[type[MailroomSettings]], environment: Mapping[str, str]) -> Iterator[str]:
    with replace_environment(environment):
        for kind in kinds:
            try:
                load_settings(kind)
            except SettingsError as error:
                yield from error.mistakes


def _find_malformed_keys(environment: Mapping[str, str]) -> Iterator[str]:
    """What the services parse once they run, and not with their settings."""
    for name, (kind, parse) in _KEY_PARSERS.items():
        keys = environment.get(PREFIX + name.upper()) or read_secret_files(kind, environment).values.get(name)
        if keys is None:
            continue  # in a file that cannot be read, which is said of the file
        try:
            parse(keys)
        except SettingsError as error:
            yield from error.mistakes


def _name_place(mistake: str, given: GivenSettings) -> str:
    """The sentence, with file and line of the first variable in it that came from a file."""
    places = [given.lines[name] for name in _VARIABLE.findall(mistake) if name in given.lines]
    return f"{mistake} ({places[0]})" if places and places[0] not in mistake else mistake
