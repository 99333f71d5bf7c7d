"""The handlers that advance and end subscriptions, over one fake provider."""

from collections.abc import Callable
from datetime import timedelta

from connection_samples import (
    ID,
    NOW,
    OUTLOOK,
    PUBLIC_URL,
    TRAITS,
    Clock,
    make_connection,
    make_provider_subscription,
    make_subscription,
)
from fake_connection_store import FakeConnectionStore
from fake_consents import FakeConnectionLocks, FakeGrantStore
from fake_provider import FakeProvider

from mailroom_common.providers.ports import ProviderTraits
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
)
from subscription_manager.domain.subscription_schedule import build_webhook_urls
from subscription_manager.handlers.advance_subscription import AdvanceSubscription
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.maintain_shared_subscription import SharedSubscriptionMaintainer
from subscription_manager.handlers.maintain_source_subscription import SourceSubscriptionMaintainer
from subscription_manager.ports import (
    SubscriptionMaintainer,
)


class FakeDocSourcePublisher:
    """Records into the provider's list of calls, so that the order of both can be seen."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls
        self.published: list[Connection] = []
        self.error: Exception | None = None

    async def publish_and_wait(self, connection: Connection) -> None:
        if self.error is not None:
            raise self.error
        self.published.append(connection)
        self._calls.append("publish")


class SubscriptionSetup:
    """The handlers that advance and end subscriptions, composed as `app.py` does, over one fake provider."""

    def __init__(self, *connections: Connection, traits: ProviderTraits = OUTLOOK) -> None:
        self.clock = Clock()
        self.connections = FakeConnectionStore(*connections, clock=self.clock)
        self.locks = FakeConnectionLocks()
        self.provider = FakeProvider(traits, clock=self.clock)
        self.grants = FakeGrantStore()
        self.publisher = FakeDocSourcePublisher(self.provider.calls)
        maintainers = self._build_maintainers(traits)
        consents = {traits.name: self.provider}
        self.end = EndConnection(self.connections, self.locks, maintainers, consents, self.grants, self.clock)
        self.advance = AdvanceSubscription(
            self.connections,
            self.locks,
            {**TRAITS, traits.name: traits},
            maintainers,
            self.end,
            PUBLIC_URL,
            self.clock,
        )

    async def advance_subscription(self, doc_source_id: str = ID) -> Connection:
        await self.advance.advance_subscription(doc_source_id)
        return self.connections.rows[doc_source_id]

    async def change_row(self, change: Callable[[Connection], Connection], doc_source_id: str = ID) -> None:
        """As another instance or the API does."""
        self.connections.rows[doc_source_id] = change(self.connections.rows[doc_source_id])

    async def delete_row(self) -> None:
        await self.change_row(lambda row: transitions.begin_deletion(row, NOW))

    async def record_new_consent(self) -> None:
        await self.change_row(
            lambda row: transitions.record_consent(
                row,
                self.provider.account,
                generation=row.grant_generation + 1,
                now=NOW,
                start_at=NOW,
                next_backstop_at=NOW,
            )
        )

    def _build_maintainers(self, traits: ProviderTraits) -> dict[str, SubscriptionMaintainer]:
        if traits.push is None:
            return {}
        urls = build_webhook_urls(PUBLIC_URL, traits.name)
        if traits.push.is_shared_by_account:
            return {
                traits.name: SharedSubscriptionMaintainer(
                    self.provider, traits.push, self.connections, self.locks, urls, self.clock
                )
            }
        return {
            traits.name: SourceSubscriptionMaintainer(
                self.provider, traits.push, self.connections, self.locks, self.publisher, urls, self.clock
            )
        }


def make_setup_due_for_renewal() -> SubscriptionSetup:
    """Its subscription is in its last day."""
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(subscription=soon))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(soon)
    return setup
