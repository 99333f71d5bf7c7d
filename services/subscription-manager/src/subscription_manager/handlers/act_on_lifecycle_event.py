"""A provider's word on a subscription. It counts for the current subscription only, and says what to do, not that it
was done: the keeper acts on the row, so a repeat or a crash changes nothing."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.events import LifecycleEvent, LifecycleKind, SyncReason
from mailroom_common.logs import get_logger
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, State, SubscriptionStatus
from subscription_manager.ports import Change, Connections, Wakes

log = get_logger()


class ActOnLifecycleEvent:
    def __init__(self, connections: Connections, wake: Wakes, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._wake = wake
        self._clock = clock

    async def act(self, event: LifecycleEvent) -> None:
        async with self._connections.change(event.doc_source_id) as change:
            if change is None or not _concerns(change.connection, event):
                log.info(
                    "lifecycle_event_of_no_current_subscription",
                    doc_source_id=event.doc_source_id,
                    subscription_id=event.subscription_id,
                    kind=event.kind,
                )
                return
            await self._act(change, event)
        self._wake.set()

    async def _act(self, change: Change, event: LifecycleEvent) -> None:
        connection, now = change.connection, self._clock()
        log.info("lifecycle_event", doc_source_id=connection.id, kind=event.kind, raw_kind=event.raw_kind)
        if event.kind is LifecycleKind.REAUTHORIZATION_REQUIRED:
            # A renewal reauthorizes as well. Never both: Graph warns of an inconsistent state.
            await change.save(transitions.asked_to_renew(connection, event.occurred_at, now))
        elif event.kind is LifecycleKind.SUBSCRIPTION_REMOVED:
            if not _is_removed(connection):
                await change.save(transitions.removed_at_provider(connection, now), ask=_sync_of(connection))
        elif event.kind is LifecycleKind.MISSED:
            await change.save(connection, ask=_sync_of(connection))


def _concerns(connection: Connection, event: LifecycleEvent) -> bool:
    current = connection.subscription
    return (
        connection.state in (State.ACTIVE, State.PAUSED)
        and current is not None
        and current.subscription_id == event.subscription_id
    )


def _is_removed(connection: Connection) -> bool:
    return connection.subscription is not None and connection.subscription.status is SubscriptionStatus.REMOVED


def _sync_of(connection: Connection) -> SyncReason | None:
    return SyncReason.LIFECYCLE if connection.state is State.ACTIVE else None  # a resume asks for all anyway
