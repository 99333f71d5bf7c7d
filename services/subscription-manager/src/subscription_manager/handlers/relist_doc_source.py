"""Has a mailbox listed again from a date: what is not stored yet is taken, and nothing else changes."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.errors import MailroomError
from mailroom_common.events import SyncReason
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState
from subscription_manager.handlers.change_connection_state import WrongConnectionState
from subscription_manager.handlers.create_doc_source import StartNotAllowed
from subscription_manager.ports import ConnectionStore


class InvalidRelist(MailroomError):
    """The dates of a re-list contradict each other or the doc source; the sentence says which."""


class RelistDocSource:
    def __init__(self, connections: ConnectionStore, clock: Callable[[], datetime]) -> None:
        self._connections = connections
        self._clock = clock

    async def relist_doc_source(
        self,
        tenant_id: str,
        doc_source_id: str,
        *,
        relist_from: datetime | None,
        start_at: datetime | None,
        may_move_start: bool,
    ) -> Connection | None:
        """The doc source as it is then, None where the tenant has none. Without `relist_from` it is `start_at`, since
        an earlier start alone lists nothing. A paused one is listed again when it is resumed.

        Raises:
            InvalidRelist, StartNotAllowed, WrongConnectionState
        """
        async with self._connections.lock_connection(doc_source_id, tenant_id=tenant_id) as locked:
            if locked is None:
                return None
            connection = locked.connection
            if connection.state not in (ConnectionState.ACTIVE, ConnectionState.PAUSED):
                raise WrongConnectionState(f"A doc source that is {connection.state} cannot be listed again.")
            new_start = _choose_start(connection, start_at, may_move_start)
            since = relist_from or new_start
            self._check_relist_from(since, new_start)
            return await locked.save_connection(
                transitions.request_relist(connection, relist_from=since, start_at=new_start),
                request_sync=SyncReason.REPLAY if connection.state is ConnectionState.ACTIVE else None,
            )

    def _check_relist_from(self, relist_from: datetime, start_at: datetime) -> None:
        if relist_from > self._clock():
            raise InvalidRelist("relist_from is in the future.")
        if relist_from < start_at:
            raise InvalidRelist(
                f"Mail received before start_at ({start_at:%Y-%m-%dT%H:%M:%SZ}) is never taken: give a later "
                "relist_from, or an earlier start_at too, which needs the role admin."
            )


def _choose_start(connection: Connection, start_at: datetime | None, may_move_start: bool) -> datetime:
    current = connection.start_at
    if current is None:
        raise InvalidRelist("The doc source has no start_at yet.")
    if start_at is None or start_at == current:
        return current
    if start_at > current:
        raise InvalidRelist("start_at can only be moved back: what is stored stays.")
    if not may_move_start:
        raise StartNotAllowed("An earlier start_at needs the role admin.")
    return start_at
