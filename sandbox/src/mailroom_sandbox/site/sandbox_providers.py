"""The sandbox's providers as part of a site: their process, and what the services must know to speak to them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from mailroom_common.secret_files import SUFFIX
from mailroom_sandbox.provider_doubles.cli import CONTROL_FILE
from mailroom_sandbox.provider_doubles.endpoints import mailroom_environment
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings
from mailroom_sandbox.site.lifecycle import Companion, SitePlan
from mailroom_sandbox.site.own_settings import SANDBOX_PREFIX, select_sandbox_settings

PORT_NAMES = ("sandbox_microsoft", "sandbox_google", "sandbox_control")
# Settings of a site with real providers; here they would only send a run astray.
_NOT_OURS = {"MAILROOM_API_KEYS", "MAILROOM_PUBLIC_URL", "MAILROOM_HTTPS_PROXY"}


def control_url(plan: SitePlan) -> str:
    return f"http://127.0.0.1:{plan.ports['sandbox_control']}"


@contextmanager
def announce_control_url(plan: SitePlan) -> Iterator[None]:
    """Tells `mailroom-sandbox send` and its like where the control API is, while the site runs."""
    file = plan.home.endpoints.with_name(CONTROL_FILE)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{control_url(plan)}\n")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def with_sandbox_providers(plan: SitePlan) -> SitePlan:
    """The plan with the providers' process, and with services that are pointed at it whatever the environment says."""
    passed_over = list_passed_over(plan.environment)
    kept = {name: value for name, value in plan.environment.items() if name not in passed_over}
    fields = _build_settings(plan)
    own = {f"{SANDBOX_PREFIX}{name.upper()}": str(value) for name, value in fields.items()}
    companion = Companion(
        "sandbox_providers",
        [sys.executable, "-m", "mailroom_sandbox.provider_doubles"],
        {**select_sandbox_settings(kept), **own, "PYTHONUNBUFFERED": "1"},
        f"{control_url(plan)}/sandbox/mailboxes",
        PORT_NAMES,
    )
    services = mailroom_environment(ProvidersSettings.model_validate(fields))
    return replace(plan, environment={**kept, **services}, companion=companion)


def list_passed_over(environment: Iterable[str]) -> list[str]:
    """The settings that the sandbox takes from nobody, of those that are given, as themselves or as a file."""
    return sorted(name for name in environment if name.removesuffix(SUFFIX) in _NOT_OURS)


def _build_settings(plan: SitePlan) -> dict[str, object]:
    public = f"https://127.0.0.1:{plan.ports['front']}"
    return {
        "state": plan.home.providers,
        "microsoft_port": plan.ports["sandbox_microsoft"],
        "google_port": plan.ports["sandbox_google"],
        "control_port": plan.ports["sandbox_control"],
        "tls_certificate": plan.certificates.server,
        "tls_key": plan.certificates.server,
        "ca_bundle": plan.certificates.bundle,
        "redirect_uris": f"{public}/oauth/outlook/callback,{public}/oauth/gmail/callback",
        "pubsub_push_url": f"{public}/webhooks/gmail",
        "pubsub_token": plan.home.read_or_create_secret("pubsub_token"),
        "pubsub_service_account": "gmail-push@mailroom-sandbox.iam.gserviceaccount.com",
    }
