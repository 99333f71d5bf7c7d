"""A subscription that the provider removes while its source is paused: over the gateway's and the manager's handlers,
joined by what they write, with tables, topics and the provider in memory."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from connection_samples import DURATIONS, ID, make_connection
from subscription_setup import SubscriptionSetup

from mailroom_common.events import DocSource, LifecycleEvent, Notification, SyncReason
from subscription_manager.handlers.change_connection_state import ChangeConnectionState
from subscription_manager.handlers.handle_lifecycle_event import HandleLifecycleEvent
from webhook_gateway.domain.pushes import GraphItem
from webhook_gateway.handlers.receive_graph_push import GraphPushReceiver
from webhook_gateway.ports import OutgoingEvent


class Site:
    """One Outlook source. `notifications` is what sync-engine would be woken by."""

    def __init__(self) -> None:
        self.setup = SubscriptionSetup(make_connection())
        self.clock, self.connections, self.provider = self.setup.clock, self.setup.connections, self.setup.provider
        self.notifications: list[Notification] = []
        self.change = ChangeConnectionState(self.connections, self.setup.grants, DURATIONS, self, self.clock)
        self.lifecycle = HandleLifecycleEvent(self.connections, self, self.clock)
        self.gateway = GraphPushReceiver(self, self, self.clock)

    def set(self) -> None:
        """What is due advances when the test says so."""

    def get_source(self, doc_source_id: str) -> DocSource | None:
        """`doc-sources`, read to its end."""
        published = [event for key, _, event in self.connections.published if key == doc_source_id]
        return published[-1] if published else None

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        return ()

    async def catch_up(self) -> None:
        """There is nothing that was not read yet."""

    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        for outgoing in events:
            if isinstance(outgoing.event, LifecycleEvent):
                await self.lifecycle.handle_event(outgoing.event)
            elif isinstance(outgoing.event, Notification):
                self.notifications.append(outgoing.event)

    async def advance_due(self) -> None:
        for due in await self.connections.claim_due_checks(self.clock(), lease=timedelta(minutes=3), limit=10):
            await self.setup.advance_subscription(due)

    async def push(self, *, lifecycle_event: str | None = None) -> None:
        """As the provider does, of the subscription that it holds or has just removed."""
        current = self.connections.only_row().subscription
        assert current is not None
        item = GraphItem(
            self.provider.client_states[current.subscription_id],
            current.subscription_id,
            lifecycle_event=lifecycle_event,
            change_type=None if lifecycle_event else "created",
        )
        received = await self.gateway.receive_push([item], remaining_s=lambda: 2.0)
        assert received.mismatched == 0

    def is_pushed(self, now: datetime) -> bool:
        """Whether our row's subscription is one that lives at the provider."""
        current = self.connections.only_row().subscription
        living = None if current is None else self.provider.subscriptions.get(current.subscription_id)
        return living is not None and living.expires_at > now


async def test_subscription_that_is_removed_while_its_source_is_paused_lives_again_when_it_is_resumed() -> None:
    site = Site()
    await site.advance_due()
    await site.change.pause_doc_source("acme", ID)
    await site.push()
    assert site.notifications == []  # changes rest
    site.provider.subscriptions.clear()
    await site.push(lifecycle_event="subscriptionRemoved")
    site.clock.advance(timedelta(minutes=1))
    await site.advance_due()
    await site.change.resume_doc_source("acme", ID)
    site.clock.advance(timedelta(minutes=1))
    await site.advance_due()

    assert site.is_pushed(site.clock())
    assert (ID, SyncReason.RESUME) in site.connections.sync_requests
    await site.push()
    assert [one.doc_source_id for one in site.notifications] == [ID]
