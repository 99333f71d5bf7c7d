"""Lifecycle events of a provider about a subscription. Only the current subscription counts, and the event says what
to do and not that it was done: the reconciler acts on the row, so a repeated event or a crash changes nothing."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.events import LifecycleEvent, LifecycleKind, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.metrics import MISSED_EVENTS
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.ports import ConnectionStore, LockedConnection, WakeSignal

log = get_logger()


class HandleLifecycleEvent:
    def __init__(self, connections: ConnectionStore, wake: WakeSignal, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._wake = wake
        self._clock = clock

    async def handle_event(self, event: LifecycleEvent) -> None:
        async with self._connections.lock_connection(event.doc_source_id) as locked:
            if locked is None or not _is_about_current(locked.connection, event):
                log.info(
                    "lifecycle_event_ignored",
                    doc_source_id=event.doc_source_id,
                    subscription_id=event.subscription_id,
                    kind=event.kind,
                )
                return
            await self._apply_event(locked, event)
        # Only once the row is committed: the reconciler would find nothing due before.
        self._wake.set()

    async def _apply_event(self, locked: LockedConnection, event: LifecycleEvent) -> None:
        connection, now = locked.connection, self._clock()
        log.info("lifecycle_event_received", doc_source_id=connection.id, kind=event.kind, raw_kind=event.raw_kind)
        if event.kind is LifecycleKind.REAUTHORIZATION_REQUIRED:
            # A renewal reauthorizes as well. Never both: that leaves the subscription in an inconsistent state.
            await locked.save_connection(transitions.request_renewal(connection, event.occurred_at, now))
        elif event.kind is LifecycleKind.SUBSCRIPTION_REMOVED:
            # A repeat of the event must not ask for another sync.
            if not connection.is_subscription_removed:
                removed = transitions.mark_subscription_removed(connection, now)
                await locked.save_connection(removed, request_sync=_choose_sync(connection))
        elif event.kind is LifecycleKind.MISSED:
            since = connection.last_successful_sync_at or connection.start_at or connection.created_at
            # Notifications of this time may be lost. The sync that is asked for here finds the mail; what they would
            # have said of an observed mail that changed twice is gone.
            log.warning("notifications_missed", doc_source_id=connection.id, since=since, until=now)
            MISSED_EVENTS.labels(connection.provider).inc()
            await locked.save_connection(connection, request_sync=_choose_sync(connection))


def _is_about_current(connection: Connection, event: LifecycleEvent) -> bool:
    return (
        connection.state in (ConnectionState.ACTIVE, ConnectionState.PAUSED)
        and connection.subscription_id is not None
        and connection.subscription_id == event.subscription_id
    )


def _choose_sync(connection: Connection) -> SyncReason | None:
    """None for a paused one: its resume asks for a sync of everything anyway."""
    return SyncReason.LIFECYCLE if connection.state is ConnectionState.ACTIVE else None
