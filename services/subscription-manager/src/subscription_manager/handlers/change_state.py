"""Pause, resume, ask for a sync, delete: what an operator does to a doc source of their tenant."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.errors import MailroomError
from mailroom_common.events import SyncReason
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, State
from subscription_manager.handlers.make_doc_source import Timings
from subscription_manager.ports import Change, Connections, Grants, Wakes


class WrongState(MailroomError):
    """The doc source is in a state that does not allow this; the sentence says which."""


class ChangeState:
    """Each returns the doc source as it is then, None where the tenant has no such one. Repeating one is no error."""

    def __init__(
        self,
        connections: Connections,
        grants: Grants,
        timings: Timings,
        wake: Wakes,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._grants = grants
        self._timings = timings
        self._wake = wake
        self._clock = clock

    async def pause(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        """The subscription is kept; pushes are dropped and requests resolved by those who read `doc-sources`."""
        async with self._connections.change(doc_source_id, tenant_id=tenant_id) as change:
            if change is None:
                return None
            _demand(change, "paused", State.ACTIVE, State.PAUSED)
            return await change.save(transitions.paused(change.connection))

    async def resume(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        """Asks for a sync, which catches up from the cursor."""
        async with self._connections.change(doc_source_id, tenant_id=tenant_id) as change:
            if change is None:
                return None
            _demand(change, "resumed", State.ACTIVE, State.PAUSED)
            if change.connection.state is State.ACTIVE:
                return change.connection
            backstop_at = self._timings.first_backstop_at(self._clock())
            return await change.save(transitions.resumed(change.connection, backstop_at), ask=SyncReason.RESUME)

    async def sync(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        async with self._connections.change(doc_source_id, tenant_id=tenant_id) as change:
            if change is None:
                return None
            _demand(change, "synced", State.ACTIVE)
            return await change.save(change.connection, ask=SyncReason.MANUAL)

    async def delete(self, tenant_id: str, doc_source_id: str) -> Connection | None:
        has_grant = await self._has_unfinished_consent(tenant_id, doc_source_id)
        async with self._connections.change(doc_source_id, tenant_id=tenant_id) as change:
            if change is None:
                return None
            if change.connection.state is State.DELETING:
                return change.connection
            deleted = await change.save(transitions.deleting(change.connection, self._clock(), has_grant=has_grant))
        self._wake.set()
        return deleted

    async def _has_unfinished_consent(self, tenant_id: str, doc_source_id: str) -> bool:
        """A consent that failed at its end leaves its grant with a doc source that is still pending."""
        found = await self._connections.find(doc_source_id, tenant_id=tenant_id)
        return (
            found is not None and found.state is State.PENDING and await self._grants.read_grant(found.id) is not None
        )


def _demand(change: Change, done: str, *states: State) -> None:
    if change.connection.state not in states:
        raise WrongState(f"A doc source that is {change.connection.state} cannot be {done}.")
