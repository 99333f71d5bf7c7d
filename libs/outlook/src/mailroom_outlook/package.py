"""What a service's composition root names to have Outlook: its traits, and how its clients are opened."""

from dataclasses import dataclass

from mailroom_common.events import Access
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import ClientContext, ProviderClients, ProviderTraits
from mailroom_common.providers.quota import Quota
from mailroom_common.settings import load_settings
from mailroom_outlook.consent import MicrosoftIdentity
from mailroom_outlook.mail import CALLS_PER_MAILBOX, SLOTS_PER_MAILBOX, GraphMail
from mailroom_outlook.settings import CLIENT_VARIABLES, TRAITS, OutlookSettings
from mailroom_outlook.subscriptions import GraphSubscriptions


@dataclass(frozen=True, slots=True)
class OutlookPackage:
    """`ProviderPackage` for Outlook."""

    traits: ProviderTraits = TRAITS

    def missing_settings(self, _access: Access) -> str | None:
        return None if _has_client(load_settings(OutlookSettings)) else f"{CLIENT_VARIABLES} are not set."

    def open_clients(self, context: ClientContext) -> ProviderClients:
        settings = load_settings(OutlookSettings)
        if not _has_client(settings):
            return ProviderClients()
        identity = MicrosoftIdentity(settings, context.tls, context.http)
        base = BaseURL(settings.graph_url)
        # Both share it: what a mailbox has in use is counted over all its calls.
        quota = Quota(
            slots=SLOTS_PER_MAILBOX,
            application=settings.microsoft_client_id or "",
            mailbox_limit=CALLS_PER_MAILBOX,
            budgets=context.budgets,
            count_sharers=context.count_sharers,
        )
        return ProviderClients(
            mail=GraphMail(context.http, base, context.tokens, quota),
            push=GraphSubscriptions(context.http, base, context.tokens, quota),
            consent=identity,
            grant_refresher=identity,
            application_tokens=identity,
        )


def _has_client(settings: OutlookSettings) -> bool:
    return bool(settings.microsoft_client_id) and settings.microsoft_client_secret is not None


PACKAGE = OutlookPackage()
