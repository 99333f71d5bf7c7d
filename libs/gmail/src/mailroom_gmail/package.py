"""What a service's composition root names to have Gmail: its traits, and how its clients are opened."""

from dataclasses import dataclass

from mailroom_common.budgets.window import UnitLimit
from mailroom_common.events import Access
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import ClientContext, ProviderClients, ProviderTraits
from mailroom_common.providers.quota import Quota
from mailroom_common.settings import load_settings
from mailroom_gmail.consent import GoogleIdentity
from mailroom_gmail.mail import SLOTS_PER_MAILBOX, GmailMail
from mailroom_gmail.service_account import GoogleServiceAccount
from mailroom_gmail.settings import CLIENT_VARIABLES, TRAITS, GmailSettings
from mailroom_gmail.watch import GmailWatch


@dataclass(frozen=True, slots=True)
class GmailPackage:
    """`ProviderPackage` for Gmail. A service account alone gives mailboxes (application access) and no consent."""

    traits: ProviderTraits = TRAITS

    def missing_settings(self, access: Access) -> str | None:
        settings = load_settings(GmailSettings)
        missing = [] if settings.pubsub_topic else ["MAILROOM_PUBSUB_TOPIC is not set."]
        if access is Access.APPLICATION:
            if settings.google_service_account_key is None:
                missing.append("MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY is not set.")
        elif not _has_client(settings):
            missing.insert(0, f"{CLIENT_VARIABLES} are not set.")
        return " ".join(missing) or None

    def open_clients(self, context: ClientContext) -> ProviderClients:
        settings = load_settings(GmailSettings)
        identity = GoogleIdentity(settings, context.http) if _has_client(settings) else None
        key = settings.google_service_account_key
        account = None
        if key is not None:
            account = GoogleServiceAccount(
                key.get_secret_value(), token_url=settings.google_token_url, http=context.http
            )
        if identity is None and account is None:
            return ProviderClients()
        base = BaseURL(settings.gmail_url)
        # Both share it: what a mailbox has in use is counted over all its calls.
        quota = Quota(
            slots=SLOTS_PER_MAILBOX,
            application=settings.google_client_id or "service-account",
            mailbox_limit=UnitLimit(settings.gmail_user_units_per_minute),
            project_limit=UnitLimit(settings.gmail_project_units_per_minute),
            budgets=context.budgets,
            count_sharers=context.count_sharers,
        )
        return ProviderClients(
            mail=GmailMail(context.http, base, context.tokens, quota),
            push=GmailWatch(context.http, base, context.tokens, quota, topic=settings.pubsub_topic),
            consent=identity,
            grant_refresher=identity,
            application_tokens=account,
        )


def _has_client(settings: GmailSettings) -> bool:
    return bool(settings.google_client_id) and settings.google_client_secret is not None


PACKAGE = GmailPackage()
