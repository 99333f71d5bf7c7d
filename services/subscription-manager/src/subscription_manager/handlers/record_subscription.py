"""Store what a provider answered to a creation or a renewal, unless the row has moved on meanwhile."""

import random
from collections.abc import Callable
from datetime import datetime

from mailroom_common.events import SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import PushTraits
from mailroom_common.providers.types import Subscription
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.domain.subscription_schedule import compute_renewal_time
from subscription_manager.ports import ConnectionStore

log = get_logger()


class SubscriptionRecorder:
    def __init__(self, connections: ConnectionStore, push: PushTraits, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._push = push
        self._clock = clock

    async def record_created(self, before: Connection, subscription: Subscription, sha256: str | None) -> bool:
        """Store the subscription that replaces the one of `before`; `sha256` is the hash of its client state.

        False when it is not stored: another instance, which got the lock that we lost, was first.
        """
        now = self._clock()
        async with self._connections.lock_connection(before.id) as locked:
            if locked is None or not _is_unchanged(locked.connection, before, sha256):
                # Another instance stored a subscription meanwhile, or the connection is gone: ours is ended instead
                # of stored.
                log.warning("new_subscription_not_stored", doc_source_id=before.id)
                return False
            # The end of a connection that was deleted meanwhile waits for our lock. It needs the id, and no sync.
            is_deleting = locked.connection.state is ConnectionState.DELETING
            recorded = transitions.record_subscription(
                locked.connection,
                subscription,
                sha256=sha256,
                now=now,
                next_check_at=now if is_deleting else self._schedule_renewal(subscription.expires_at),
            )
            reason = SyncReason.CONNECT if before.subscription is None else SyncReason.LIFECYCLE
            # In one transaction with the id: mail of the time without a subscription is found by this sync.
            await locked.save_connection(recorded, request_sync=None if is_deleting else reason)
        log.info("new_subscription_stored", doc_source_id=before.id, expires_at=subscription.expires_at.isoformat())
        return True

    async def record_renewed(self, before: Connection, expires_at: datetime) -> None:
        now = self._clock()
        async with self._connections.lock_connection(before.id) as locked:
            if locked is None or locked.connection.subscription_id != before.subscription_id:
                return
            if locked.connection.is_subscription_removed:
                return  # a lifecycle event said meanwhile that it is gone after all, and made the next check due
            is_deleting = locked.connection.state is ConnectionState.DELETING  # its end waits for our lock
            next_check_at = now if is_deleting else self._schedule_renewal(expires_at)
            await locked.save_connection(
                transitions.record_renewal(locked.connection, expires_at, now=now, next_check_at=next_check_at)
            )
        log.info("subscription_renewed", doc_source_id=before.id, expires_at=expires_at.isoformat())

    def _schedule_renewal(self, expires_at: datetime) -> datetime:
        jitter = random.random()  # noqa: S311  # no secret
        return compute_renewal_time(self._push, self._clock(), expires_at, jitter)


def _is_unchanged(stored: Connection, before: Connection, sha256: str | None) -> bool:
    """Compare-and-swap: the subscription is the one that we set out to replace, and our hash is still published."""
    if stored.subscription_id != before.subscription_id:
        return False
    return sha256 is None or any(known.sha256 == sha256 for known in stored.client_states)
