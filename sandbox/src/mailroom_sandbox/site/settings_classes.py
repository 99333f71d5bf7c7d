"""Which settings classes each process of a site reads, and so which variables it needs."""

import importlib
from collections.abc import Iterable

from mailroom_common.secret_files import SUFFIX, is_secret
from mailroom_common.settings import PREFIX, MailroomSettings, ProcessSettings, ProviderSettings
from mailroom_sandbox.site.services import Service

PROVIDER_MODULES = ("mailroom_outlook.settings", "mailroom_gmail.settings")
CLI_MODULE = "mailroom_cli.settings"

SettingsClasses = list[type[MailroomSettings]]


def list_settings_classes(module: str) -> SettingsClasses:
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


def list_service_classes(service: Service) -> SettingsClasses:
    """The class of the process, without those of the providers that it opens."""
    kinds = list_settings_classes(f"{service.module}.settings")
    return [kind for kind in kinds if service.role is None or _is_of_role(kind, service.role)]


def list_all_classes(service: Service) -> SettingsClasses:
    """Those of the providers too, where the process calls them."""
    own = list_service_classes(service)
    if not any(issubclass(kind, ProviderSettings) for kind in own):
        return own
    return own + [kind for module in PROVIDER_MODULES for kind in list_settings_classes(module)]


def list_variables(kinds: Iterable[type[MailroomSettings]]) -> frozenset[str]:
    """Every variable that the classes read, and for a secret the one that names its file."""
    variables = {PREFIX + name.upper() for kind in kinds for name in kind.model_fields}
    return frozenset(variables | {variable + SUFFIX for variable in list_secrets(kinds)})


def list_secrets(kinds: Iterable[type[MailroomSettings]]) -> frozenset[str]:
    return frozenset(
        PREFIX + name.upper() for kind in kinds for name, info in kind.model_fields.items() if is_secret(info)
    )


def _is_of_role(kind: type[MailroomSettings], role: str) -> bool:
    """`WorkerSettings` is of the role worker, `DocumentsAPISettings` of the role api."""
    return issubclass(kind, ProcessSettings) and kind.__name__.removesuffix("Settings").lower().endswith(role)
