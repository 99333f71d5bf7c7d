"""What sync-engine learned of a connection becomes its status."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from mailroom_common.events import ConnectionEvent, ConnectionKind
from mailroom_common.logs import get_logger
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.ports import ConnectionStore

log = get_logger()

_REASONS = {
    ConnectionKind.TOKEN_REFUSED: TroubleReason.TOKEN_REFUSED,
    ConnectionKind.MAILBOX_GONE: TroubleReason.MAILBOX_GONE,
    ConnectionKind.ACCESS_DENIED: TroubleReason.ACCESS_DENIED,
    ConnectionKind.PROVIDER_FAILING: TroubleReason.PROVIDER_FAILING,
}


class RecordConnectionEvent:
    def __init__(self, connections: ConnectionStore, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._clock = clock

    async def record_event(self, event: ConnectionEvent) -> None:
        async with self._connections.lock_connection(event.doc_source_id) as locked:
            if locked is None:
                return
            after = _apply_event(locked.connection, event, self._clock())
            if after != locked.connection:
                log.info("connection_event_recorded", doc_source_id=event.doc_source_id, kind=event.kind)
                await locked.save_connection(after)


def _apply_event(connection: Connection, event: ConnectionEvent, now: datetime) -> Connection:
    if event.kind is ConnectionKind.FORGOTTEN:
        if connection.state is not ConnectionState.DELETING:
            return connection
        forgotten = transitions.record_forgotten(connection, event.source_version, now)
        return transitions.erase_to_tombstone_if_finished(forgotten, now)
    if event.grant_generation < connection.grant_generation or connection.state is ConnectionState.PENDING:
        # About an older grant: somebody has consented anew since, and the newer grant may be well.
        return connection
    if event.kind in (ConnectionKind.SYNCED, ConnectionKind.RECOVERED):
        return _record_success(connection, event)
    return _record_trouble(connection, event, _REASONS[event.kind], event.detail)


def _record_success(connection: Connection, event: ConnectionEvent) -> Connection:
    last = connection.last_successful_sync_at
    # Events of one doc source come in order, and a consumer that died repeats some of them.
    if event.kind is ConnectionKind.SYNCED and (last is None or event.occurred_at > last):
        connection = replace(connection, last_successful_sync_at=event.occurred_at)
    if event.trouble is not None:
        return _record_trouble(connection, event, TroubleReason.PROVIDER_FAILING, event.trouble)
    return transitions.clear_sync_trouble(connection)


def _record_trouble(
    connection: Connection, event: ConnectionEvent, reason: TroubleReason, detail: str | None
) -> Connection:
    is_grant = reason is TroubleReason.TOKEN_REFUSED
    status = ConnectionStatus.TOKEN_REFRESH_FAILED if is_grant else ConnectionStatus.PROVIDER_ERROR
    return transitions.record_sync_trouble(connection, status, reason, detail or reason.value, event.occurred_at)
