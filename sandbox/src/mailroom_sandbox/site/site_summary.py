"""What `make up` ends with: what is set up and what is not, and how to connect the first mailbox."""

import importlib
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from mailroom_common.events import Access
from mailroom_common.providers.ports import ProviderPackage
from mailroom_common.settings import replace_environment
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.lifecycle import SitePlan, compose_planned_environment

# By name, as the site starts the services: the sandbox is installed without them.
_PROVIDER_PACKAGES = {"mailroom_outlook": "docs/connect-microsoft.md", "mailroom_gmail": "docs/connect-google.md"}

Lines = Iterator[tuple[str, str]]


def describe_site(plan: SitePlan, endpoints: Endpoints) -> Lines:
    """Each line with its heading."""
    url = endpoints.public.rstrip("/")
    yield "Mailroom", f"is up at {url}, and shows its API at {url}/docs"
    settings = compose_planned_environment(plan).shared
    ready: list[str] = []
    for module, page in _PROVIDER_PACKAGES.items():
        package: ProviderPackage = importlib.import_module(module).PACKAGE
        with replace_environment(settings):
            missing = package.missing_settings(Access.DELEGATED)
        name = package.traits.name
        if missing is None:
            ready.append(name)
            yield package.traits.display_name, f"is set up; register the redirect URI {url}/oauth/{name}/callback"
        else:
            yield package.traits.display_name, f"is not set up: {missing} See {page}"
    has_doubles = plan.companion is not None
    yield "webhooks", "come from the provider doubles" if has_doubles else _describe_webhooks(url, settings)
    yield "API key", _locate_key(plan, endpoints)
    example = ready[0] if ready else "outlook"
    command = f"mailroom sources connect {example} --address ap@company.example"
    yield "connect", f".venv/bin/{'mailroom-sandbox connect outlook ap@outlook.test' if has_doubles else command}"
    yield "look", ".venv/bin/mailroom status, make logs; every address is in " + str(plan.home.endpoints)
    yield "stop", "Ctrl-C; make up resumes"


def _describe_webhooks(url: str, settings: Mapping[str, str]) -> str:
    webhook_url = settings.get("MAILROOM_WEBHOOK_URL", url).rstrip("/")
    if is_loopback(webhook_url):
        minutes = round(float(settings.get("MAILROOM_BACKSTOP_INTERVAL_S", "900")) / 60)
        return (
            f"no provider reaches {webhook_url}: new mail comes with the backstop sync, each {minutes} minutes. "
            "MAILROOM_PUBLIC_URL sets an address that they reach"
        )
    return f"providers call {webhook_url}/webhooks/outlook and {webhook_url}/webhooks/gmail"


def is_loopback(url: str) -> bool:
    """Whether no other machine reaches it."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _locate_key(plan: SitePlan, endpoints: Endpoints) -> str:
    if endpoints.api_key is None:
        return "one of those that MAILROOM_API_KEYS has digests of; give it as MAILROOM_API_KEY"
    return f"`api_key` in {plan.home.endpoints}; the commands below find it there"
