"""The checks of what lies outside: the providers, the webhook as providers call it, and the clock beside theirs."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx

from mailroom_cli.check_report import CheckResult, Outcome
from mailroom_cli.site_checks import is_given, load_or_skip, skip_check
from mailroom_common.errors import SettingsError
from mailroom_common.providers.http import open_client
from mailroom_common.settings import PublicSettings, TLSSettings, load_settings
from mailroom_common.transport_security import is_loopback
from mailroom_gmail.settings import GmailSettings
from mailroom_outlook.settings import OutlookSettings

_TIMEOUT_S = 10.0
# Tokens and signatures are judged with a few minutes' leeway; a machine that is further off fails now and then.
_MAX_CLOCK_OFFSET = timedelta(seconds=60)
_HANDSHAKE_PATH = "/webhooks/outlook"


async def check_providers() -> list[CheckResult]:
    results = []
    outlook, skipped = load_or_skip("providers", "Outlook", "MAILROOM_MICROSOFT_CLIENT_ID", OutlookSettings)
    if outlook is None:
        results += skipped or []
    else:
        results += [
            await _check_reachable("Outlook", outlook.graph_url),
            await _check_reachable(
                "Outlook", f"{outlook.microsoft_authority}/common/v2.0/.well-known/openid-configuration"
            ),
        ]
    gmail, skipped = load_or_skip("providers", "Gmail", "MAILROOM_GOOGLE_CLIENT_ID", GmailSettings)
    if gmail is None:
        results += skipped or []
    else:
        results += [await _check_reachable("Gmail", url) for url in (gmail.gmail_url, gmail.google_token_url)]
    return results


async def check_webhook() -> list[CheckResult]:
    """The handshake that Graph does before it makes a subscription, against the address that it is given."""
    settings, skipped = load_or_skip("webhook", "handshake", "MAILROOM_PUBLIC_URL", PublicSettings)
    if settings is None:
        return skipped or []
    url = settings.webhook_base_url + _HANDSHAKE_PATH
    host = urlsplit(url).hostname or ""
    if is_loopback(host) or host.endswith(".localhost"):
        step = "docs/tunnels.md: give this machine a public address, or leave it to the backstop and Pub/Sub pull"
        return [CheckResult("webhook", url, Outcome.FAILED, "no provider can call a loopback address", step)]
    token = f"doctor {secrets.token_hex(8)}"
    try:
        async with _open_client() as http:
            answer = await http.post(url, params={"validationToken": token})
    except (httpx.HTTPError, SettingsError) as error:
        step = "check MAILROOM_WEBHOOK_URL, its DNS name and certificate, the ingress, and that the gateway runs"
        return [CheckResult("webhook", url, Outcome.FAILED, _describe(error), step)]
    if answer.status_code != 200 or answer.text != token:
        step = "the ingress has to send /webhooks to webhook-gateway, unchanged and without a sign-in page before it"
        return [CheckResult("webhook", url, Outcome.FAILED, f"the answer is {answer.status_code}, not the token", step)]
    finding = "the handshake is answered, as seen from this machine; a provider sees the internet's side"
    return [CheckResult("webhook", url, Outcome.OK, finding)]


async def check_clock() -> list[CheckResult]:
    """Against the `Date` of the first provider that is set up."""
    url = _choose_clock()
    if url is None:
        return [skip_check("clock", "offset", "a provider")]
    try:
        async with _open_client() as http:
            answer = await http.get(url)
        theirs = parsedate_to_datetime(answer.headers["date"])
    except (httpx.HTTPError, SettingsError, KeyError, ValueError) as error:
        return [CheckResult("clock", "offset", Outcome.SKIPPED, f"{url} gives no time: {_describe(error)}")]
    offset = abs(datetime.now(UTC) - theirs)
    finding = f"{offset.total_seconds():.0f} s from that of {urlsplit(url).hostname}"
    if offset > _MAX_CLOCK_OFFSET:
        step = "set this machine's clock by NTP: tokens and signatures are refused by their time"
        return [CheckResult("clock", "offset", Outcome.FAILED, finding, step)]
    return [CheckResult("clock", "offset", Outcome.OK, finding)]


def _choose_clock() -> str | None:
    try:
        if is_given("MAILROOM_MICROSOFT_CLIENT_ID"):
            return load_settings(OutlookSettings).graph_url
        if is_given("MAILROOM_GOOGLE_CLIENT_ID"):
            return load_settings(GmailSettings).gmail_url
    except SettingsError:
        return None  # the finding of the check `settings`
    return None


async def _check_reachable(provider: str, url: str) -> CheckResult:
    """Any answer below 500 shows that the way there is open; without a token most are 401 or 404."""
    try:
        async with _open_client() as http:
            answer = await http.get(url)
    except (httpx.HTTPError, SettingsError) as error:
        step = "check DNS, the firewall, MAILROOM_HTTPS_PROXY and MAILROOM_CA_BUNDLE"
        return CheckResult("providers", f"{provider} at {url}", Outcome.FAILED, _describe(error), step)
    if answer.status_code >= 500:
        step = "the provider is in trouble: look at its status page and try again"
        return CheckResult("providers", f"{provider} at {url}", Outcome.FAILED, f"answers {answer.status_code}", step)
    return CheckResult("providers", f"{provider} at {url}", Outcome.OK, f"answers ({answer.status_code})")


@asynccontextmanager
async def _open_client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(load_settings(TLSSettings), timeout_s=_TIMEOUT_S) as http:
        yield http


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
