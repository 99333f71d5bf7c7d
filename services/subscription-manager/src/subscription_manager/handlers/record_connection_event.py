"""What sync-engine learned of a connection becomes its status."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.logs import get_logger
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, State, Status
from subscription_manager.ports import Connections

log = get_logger()

_TROUBLE = {
    ConnectionKind.TOKEN_REFUSED: Status.TOKEN_REFRESH_FAILED,
    ConnectionKind.MAILBOX_GONE: Status.PROVIDER_ERROR,
    ConnectionKind.ACCESS_DENIED: Status.PROVIDER_ERROR,
    ConnectionKind.PROVIDER_FAILING: Status.PROVIDER_ERROR,
}


class RecordConnectionEvent:
    def __init__(self, connections: Connections, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._clock = clock

    async def record(self, event: ConnectionEvent) -> None:
        async with self._connections.change(event.doc_source_id) as change:
            if change is None:
                return
            learned = _learned(change.connection, event, self._clock())
            if learned != change.connection:
                log.info("connection_learned", doc_source_id=event.doc_source_id, kind=event.kind)
                await change.save(learned)


def _learned(connection: Connection, event: ConnectionEvent, now: datetime) -> Connection:
    if event.kind is ConnectionKind.FORGOTTEN:
        if connection.state is not State.DELETING:
            return connection
        return transitions.gone_if_finished(transitions.forgotten(connection, now), now)
    if event.grant_generation < connection.grant_generation or connection.state is State.PENDING:
        # Of an older grant: its end is no news since somebody consented anew.
        return connection
    if event.kind in (ConnectionKind.SYNCED, ConnectionKind.RECOVERED):
        return _well(connection, event)
    reason = event.kind.value
    return replace(connection, status=_TROUBLE[event.kind], reason=reason, last_error=event.detail or reason)


def _well(connection: Connection, event: ConnectionEvent) -> Connection:
    last = connection.last_successful_sync_at
    if event.kind is ConnectionKind.SYNCED and (last is None or event.occurred_at > last):
        connection = replace(connection, last_successful_sync_at=event.occurred_at)
    if connection.status is Status.SUBSCRIPTION_EXPIRED:
        return connection  # syncs go well by the backstop, and pushes are missing all the same
    return replace(connection, status=Status.ACTIVE, reason=None, last_error=None)
