"""Pause, resume, request a sync, delete: what an operator does to a doc source of their tenant."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.errors import MailroomError
from mailroom_common.events import SourceFilter, SyncReason
from mailroom_common.tokens.sealing import CannotUnseal
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.handlers.create_doc_source import ConnectionDurations
from subscription_manager.ports import ConnectionStore, GrantStore, LockedConnection, WakeSignal


class WrongConnectionState(MailroomError):
    """The doc source is in a state that does not allow this; the sentence says which."""


class ChangeConnectionState:
    """Each method returns the doc source as it is then, None where the tenant has none. Repeating is no error."""

    def __init__(
        self,
        connections: ConnectionStore,
        grants: GrantStore,
        durations: ConnectionDurations,
        wake: WakeSignal,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._grants = grants
        self._durations = durations
        self._wake = wake
        self._clock = clock

    async def pause_doc_source(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        """The subscription is kept; readers of `doc-sources` drop its pushes and resolve its sync requests."""
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            _require_state(locked, "paused", ConnectionState.ACTIVE, ConnectionState.PAUSED)
            return await locked.save_connection(transitions.pause_connection(locked.connection))

    async def resume_doc_source(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        """Requests a sync, which catches up from the cursor."""
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            _require_state(locked, "resumed", ConnectionState.ACTIVE, ConnectionState.PAUSED)
            if locked.connection.state is ConnectionState.ACTIVE:
                return locked.connection
            resumed = transitions.resume_connection(
                locked.connection, self._durations.choose_first_backstop(self._clock())
            )
            return await locked.save_connection(resumed, request_sync=SyncReason.RESUME)

    async def request_sync(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            _require_state(locked, "synced", ConnectionState.ACTIVE)
            return await locked.save_connection(locked.connection, request_sync=SyncReason.MANUAL)

    async def correct_doc_source(
        self, tenant_id: str, doc_source_id: str, *, address: str | None, folders: tuple[str, ...] | None
    ) -> Connection | None:
        """What a consent refused for its address or a folder's name can be put right without a new doc source."""
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            _require_state(locked, "corrected", ConnectionState.PENDING)
            corrected = transitions.correct_pending(locked.connection, address=address, folders=folders)
            return await locked.save_connection(corrected)

    async def change_filter(self, tenant_id: str, doc_source_id: str, rules: SourceFilter) -> Connection | None:
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            states = (ConnectionState.PENDING, ConnectionState.ACTIVE, ConnectionState.PAUSED)
            _require_state(locked, "filtered", *states)
            return await locked.save_connection(transitions.change_filter(locked.connection, rules))

    async def delete_doc_source(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        return await self._delete(doc_source_id, tenant_id=tenant_id)

    async def delete_pending(self, doc_source_id: str) -> bool:
        """Of whichever tenant. False when it is pending no longer: somebody consented first, or deleted it."""
        deleted = await self._delete(doc_source_id, only_pending=True)
        return deleted is not None

    async def _delete(
        self, doc_source_id: str, *, tenant_id: str | None = None, only_pending: bool = False
    ) -> Connection | None:
        # Asked before the row is locked: the grant is in another schema, perhaps in another database. A consent that
        # stores its grant after this look finds the doc source deleted, and gives the grant back itself.
        has_grant = await self._has_unfinished_consent(tenant_id, doc_source_id)
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            # Looked at under the lock: a consent may have ended since the doc source was chosen.
            if only_pending and locked.connection.state is not ConnectionState.PENDING:
                return None
            if locked.connection.state is ConnectionState.DELETING:
                return locked.connection
            deleted = await locked.save_connection(
                transitions.begin_deletion(locked.connection, self._clock(), has_grant=has_grant)
            )
        self._wake.set()
        return deleted

    async def _has_unfinished_consent(self, tenant_id: str | None, doc_source_id: str) -> bool:
        """A consent that failed at its end leaves its grant with a doc source that is still pending."""
        found = await self._connections.find_connection(doc_source_id, tenant_id=tenant_id)
        if found is None or found.state is not ConnectionState.PENDING:
            return False
        try:
            return await self._grants.read_grant(found.id) is not None
        except CannotUnseal:
            return True  # there is one, and the end of the connection forgets it


def _require_state(locked: LockedConnection, change: str, *states: ConnectionState) -> None:
    if locked.connection.state not in states:
        raise WrongConnectionState(f"A doc source that is {locked.connection.state} cannot be {change}.")
