"""Everything that speaks to the providers, made from the settings: opened once per process and closed with it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from mailroom_common.events.terms import Provider
from mailroom_common.providers.gmail.mail import SLOTS_PER_MAILBOX as GMAIL_SLOTS
from mailroom_common.providers.gmail.mail import GmailMail
from mailroom_common.providers.google import GoogleIdentity, GoogleServiceAccount
from mailroom_common.providers.graph.mail import SLOTS_PER_MAILBOX as GRAPH_SLOTS
from mailroom_common.providers.graph.mail import GraphMail
from mailroom_common.providers.http import BaseURL, open_client
from mailroom_common.providers.microsoft import MicrosoftIdentity
from mailroom_common.providers.port import ConnectsMailboxes, Mailbox, MailProvider
from mailroom_common.providers.quota import Quota, UnitWindow
from mailroom_common.settings import ProviderSettings
from mailroom_common.tokens.access import AccessTokens, IssuesApplicationTokens
from mailroom_common.tokens.store import TokenStore

# What to set for a provider that is absent from `Providers`.
NEEDED_SETTINGS = {
    Provider.OUTLOOK: "MAILROOM_MICROSOFT_CLIENT_ID and MAILROOM_MICROSOFT_CLIENT_SECRET",
    Provider.GMAIL: "MAILROOM_GOOGLE_CLIENT_ID and MAILROOM_GOOGLE_CLIENT_SECRET",
}


@dataclass(frozen=True, slots=True)
class Providers:
    """A provider that is not set up is absent; `NEEDED_SETTINGS` says what it wants.

    Gmail with a service account alone has mailboxes (application access) and no consent.
    """

    mail: Mapping[Provider, MailProvider]
    connect: Mapping[Provider, ConnectsMailboxes]
    tokens: AccessTokens


@asynccontextmanager
async def open_providers(
    settings: ProviderSettings, store: TokenStore, *, sharers: Callable[[Mailbox], int] = lambda _mailbox: 1
) -> AsyncIterator[Providers]:
    """`sharers` tells how many doc sources a mailbox has: they divide its concurrent calls, whichever process has them.

    Raises:
        SettingsError: the service account's key is no key.
    """
    async with open_client(settings, timeout_s=settings.provider_timeout_s) as http:
        microsoft, google = _microsoft(settings, http), _google(settings, http)
        service_account = _service_account(settings, http)
        applications: dict[Provider, IssuesApplicationTokens] = {}
        if microsoft:
            applications[Provider.OUTLOOK] = microsoft
        if service_account:
            applications[Provider.GMAIL] = service_account
        identities = [identity for identity in (microsoft, google) if identity is not None]
        tokens = AccessTokens(store, {identity.provider: identity for identity in identities}, applications)
        mail: dict[Provider, MailProvider] = {}
        if microsoft:
            mail[Provider.OUTLOOK] = _graph_mail(settings, http, tokens, sharers)
        if google or service_account:
            mail[Provider.GMAIL] = _gmail_mail(settings, http, tokens, sharers)
        try:
            yield Providers(mail, {identity.provider: identity for identity in identities}, tokens)
        finally:
            await tokens.aclose()


def _microsoft(settings: ProviderSettings, http: httpx.AsyncClient) -> MicrosoftIdentity | None:
    client_id, secret = settings.microsoft_client_id, settings.microsoft_client_secret
    if not client_id or secret is None:
        return None
    return MicrosoftIdentity(settings, client_id=client_id, client_secret=secret.get_secret_value(), http=http)


def _google(settings: ProviderSettings, http: httpx.AsyncClient) -> GoogleIdentity | None:
    client_id, secret = settings.google_client_id, settings.google_client_secret
    if not client_id or secret is None:
        return None
    return GoogleIdentity(settings, client_id=client_id, client_secret=secret.get_secret_value(), http=http)


def _service_account(settings: ProviderSettings, http: httpx.AsyncClient) -> GoogleServiceAccount | None:
    if settings.google_service_account_key is None:
        return None
    key = settings.google_service_account_key.get_secret_value()
    return GoogleServiceAccount(key, token_url=settings.google_token_url, http=http)


def _graph_mail(
    settings: ProviderSettings, http: httpx.AsyncClient, tokens: AccessTokens, sharers: Callable[[Mailbox], int]
) -> GraphMail:
    return GraphMail(http, BaseURL(settings.graph_url), tokens, Quota(slots=GRAPH_SLOTS, sharers=sharers))


def _gmail_mail(
    settings: ProviderSettings, http: httpx.AsyncClient, tokens: AccessTokens, sharers: Callable[[Mailbox], int]
) -> GmailMail:
    quota = Quota(
        slots=GMAIL_SLOTS,
        units_per_minute=settings.gmail_user_units_per_minute,
        project=UnitWindow(settings.gmail_project_units_per_minute),
        sharers=sharers,
    )
    return GmailMail(http, BaseURL(settings.gmail_url), tokens, quota, topic=settings.pubsub_topic)
