"""Make a doc source: delegated ones wait for a user's consent, application ones begin at once."""

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import uuid4

from mailroom_common.errors import MailroomError
from mailroom_common.events import Access, Profile, Provider, SyncReason
from mailroom_common.providers.types import Account
from subscription_manager.domain import transitions
from subscription_manager.domain.application_access import Reach, refusal
from subscription_manager.domain.connection import Connection, State
from subscription_manager.ports import Connections, Flows, Wakes


class NotAllowed(MailroomError):
    """The operator did not give this tenant that mailbox."""


class NotSetUp(MailroomError):
    """The provider's settings are missing; the sentence names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    tenant_id: str
    provider: Provider
    profile: Profile
    access: Access
    address: str | None = None
    provider_tenant: str | None = None
    folders: tuple[str, ...] = ()
    start_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    backstop_interval: timedelta
    start_margin: timedelta
    ticket_lifetime: timedelta
    flow_lifetime: timedelta

    def first_backstop_at(self, now: datetime) -> datetime:
        """Spread out: what is connected together is not asked together ever after."""
        return now + self.backstop_interval * random.random()  # noqa: S311  # jitter


class MakeDocSource:
    def __init__(
        self,
        connections: Connections,
        flows: Flows,
        reach: Mapping[str, Reach],
        missing_settings: Callable[[str, Access], str | None],
        timings: Timings,
        wake: Wakes,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._flows = flows
        self._reach = reach
        self._missing_settings = missing_settings
        self._timings = timings
        self._wake = wake
        self._clock = clock

    async def make(self, wanted: Wanted) -> tuple[Connection, str | None]:
        """The new doc source, and the ticket of its consent link where it needs one.

        Raises:
            NotSetUp, NotAllowed: as they say.
            AlreadyConnected: application access to this mailbox for this profile is there.
        """
        if missing := self._missing_settings(wanted.provider, wanted.access):
            raise NotSetUp(missing)
        connection = Connection(
            id=str(uuid4()),
            tenant_id=wanted.tenant_id,
            provider=wanted.provider,
            profile=wanted.profile,
            access=wanted.access,
            state=State.PENDING,
            created_at=self._clock(),
            address=wanted.address,
            provider_tenant=wanted.provider_tenant,
            folders=wanted.folders,
            start_at=wanted.start_at,
            reason=transitions.AUTHORIZATION_PENDING,
        )
        if wanted.access is Access.APPLICATION:
            return await self._begin(connection), None
        await self._connections.add(connection)
        return connection, await self.ticket(connection.id)

    async def ticket(self, doc_source_id: str) -> str:
        """A new link's ticket. It is told once, here: what is stored is its hash."""
        ticket = secrets.token_urlsafe(32)
        expires_at = self._clock() + self._timings.ticket_lifetime
        await self._flows.add_ticket(str(uuid4()), doc_source_id, sha256(ticket.encode()).digest(), expires_at)
        return ticket

    async def _begin(self, connection: Connection) -> Connection:
        address = (connection.address or "").lower()
        reach = self._reach.get(connection.tenant_id, Reach())
        if why := refusal(reach, connection.provider, address=address, provider_tenant=connection.provider_tenant):
            raise NotAllowed(why)
        now = self._clock()
        # There is no user: the address stands for it.
        begun = transitions.consented(
            replace(connection, address=address),
            Account(user_id=address, address=address, tenant=connection.provider_tenant),
            generation=0,
            now=now,
            start_at=now - self._timings.start_margin,
            backstop_at=self._timings.first_backstop_at(now),
        )
        await self._connections.add(begun, ask=SyncReason.CONNECT)
        self._wake.set()
        return begun
