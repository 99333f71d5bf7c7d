"""The clients of all providers that a process speaks to, made from their packages on one HTTP client."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mailroom_common.budgets.allocations import Budgets, LocalBudgets
from mailroom_common.events import Access
from mailroom_common.providers.http import open_client
from mailroom_common.providers.ports import (
    ApplicationTokenIssuer,
    ClientContext,
    Consent,
    GrantRefresher,
    MailReader,
    ProviderPackage,
    ProviderTraits,
    PushSubscriptions,
)
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings
from mailroom_common.tokens.access import AccessTokens
from mailroom_common.tokens.store import TokenStore


@dataclass(frozen=True, slots=True)
class Providers:
    """By the provider's name. A provider that is not set up has traits only; `missing_settings` says what it wants."""

    traits: Mapping[str, ProviderTraits]
    mail: Mapping[str, MailReader]
    push: Mapping[str, PushSubscriptions]
    consent: Mapping[str, Consent]
    tokens: AccessTokens
    packages: Mapping[str, ProviderPackage]

    def missing_settings(self, provider: str, access: Access) -> str | None:
        """What the operator has to set before this provider can be had, None when nothing is missing."""
        return self.packages[provider].missing_settings(access)


@asynccontextmanager
async def open_providers(
    packages: Sequence[ProviderPackage],
    settings: ProviderSettings,
    store: TokenStore,
    *,
    budgets: Budgets | None = None,
    count_sharers: Callable[[Mailbox], int] = lambda _mailbox: 1,
) -> AsyncIterator[Providers]:
    """`count_sharers`: see `ClientContext`. Without `budgets` calls are counted in this process alone. The clients are
    closed with the context.

    Raises:
        SettingsError: a setting of a package is wrong.
    """
    async with open_client(settings, timeout_s=settings.provider_timeout_s) as http:
        # Filled below: the clients ask for tokens, and the tokens are refreshed by the clients.
        refreshers: dict[str, GrantRefresher] = {}
        issuers: dict[str, ApplicationTokenIssuer] = {}
        tokens = AccessTokens(store, refreshers, issuers)
        context = ClientContext(
            http=http, tls=settings, tokens=tokens, count_sharers=count_sharers, budgets=budgets or LocalBudgets()
        )
        opened = {package.traits.name: package.open_clients(context) for package in packages}
        refreshers |= {name: clients.grant_refresher for name, clients in opened.items() if clients.grant_refresher}
        issuers |= {name: clients.application_tokens for name, clients in opened.items() if clients.application_tokens}
        try:
            yield Providers(
                traits={package.traits.name: package.traits for package in packages},
                mail={name: clients.mail for name, clients in opened.items() if clients.mail},
                push={name: clients.push for name, clients in opened.items() if clients.push},
                consent={name: clients.consent for name, clients in opened.items() if clients.consent},
                tokens=tokens,
                packages={package.traits.name: package for package in packages},
            )
        finally:
            await tokens.aclose()
