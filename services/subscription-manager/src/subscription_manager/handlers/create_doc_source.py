"""Create a doc source: a delegated one waits for a user's consent, one with application access is active at once."""

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import uuid4

from mailroom_common.errors import MailroomError
from mailroom_common.events import Access, Profile, SourceFilter, SyncReason
from mailroom_common.providers.ports import FolderLister, ProviderTraits
from mailroom_common.providers.types import Account
from subscription_manager.domain import transitions
from subscription_manager.domain.application_access import ApplicationAccessPolicy
from subscription_manager.domain.connection import Connection, ConnectionState, PendingReason
from subscription_manager.domain.folder_names import find_missing_folders
from subscription_manager.ports import ConnectionStore, ConsentFlowStore, WakeSignal


class MailboxNotAllowed(MailroomError):
    """The operator does not let this tenant open that mailbox."""


class ProviderNotSetUp(MailroomError):
    """The provider's settings are missing; the sentence names them."""


class StartNotAllowed(MailroomError):
    """An earlier start takes mail of before the mailbox was connected: an admin decides that."""


class InvalidDocSource(MailroomError):
    """What was asked for cannot be; the sentence says what to correct."""


class TooManyPendingSources(MailroomError):
    """So many doc sources of the tenant wait for a consent that no further one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocSourceRequest:
    tenant_id: str
    provider: str
    profile: Profile
    access: Access
    address: str | None = None
    provider_tenant: str | None = None
    folders: tuple[str, ...] = ()
    start_at: datetime | None = None
    filter: SourceFilter = field(default_factory=SourceFilter)


@dataclass(frozen=True, slots=True)
class ConnectionDurations:
    """`start_margin`: mail that came so long before the consent is taken all the same, since clocks differ."""

    backstop_interval: timedelta
    start_margin: timedelta
    ticket_lifetime: timedelta
    flow_lifetime: timedelta

    def choose_first_backstop(self, now: datetime) -> datetime:
        """At random: what is connected together is not synced together for ever."""
        return now + self.backstop_interval * random.random()  # noqa: S311  # no secret


class CreateDocSource:
    def __init__(
        self,
        connections: ConnectionStore,
        flows: ConsentFlowStore,
        policies: Mapping[str, ApplicationAccessPolicy],
        traits: Mapping[str, ProviderTraits],
        folder_listers: Mapping[str, FolderLister],
        explain_missing_settings: Callable[[str, Access], str | None],
        durations: ConnectionDurations,
        wake: WakeSignal,
        clock: Callable[[], datetime],
        *,
        max_pending_sources: int,
    ) -> None:
        self._connections = connections
        self._flows = flows
        self._policies = policies
        self._traits = traits
        self._folder_listers = folder_listers
        self._explain_missing_settings = explain_missing_settings
        self._durations = durations
        self._wake = wake
        self._clock = clock
        self._max_pending_sources = max_pending_sources

    async def create_doc_source(
        self, request: DocSourceRequest, *, may_start_earlier: bool = False
    ) -> tuple[Connection, str | None]:
        """The new doc source, and the ticket of its consent link where it needs one.

        Raises:
            StartNotAllowed: `start_at` lies in the past, and `may_start_earlier` is not set.
            InvalidDocSource, ProviderNotSetUp, MailboxNotAllowed, TooManyPendingSources: as they say.
            MailboxAlreadyConnected: this mailbox has application access for this profile already.
            Retryable, ActionRequired, Rejected: the provider did not list the folders of a mailbox with application
                access.
        """
        if request.provider not in self._traits:
            raise InvalidDocSource(f"provider is one of {', '.join(sorted(self._traits))}")
        if missing := self._explain_missing_settings(request.provider, request.access):
            raise ProviderNotSetUp(missing)
        now = self._clock()
        is_past = request.start_at is not None and request.start_at < now - self._durations.start_margin
        if is_past and not may_start_earlier:
            raise StartNotAllowed("A start_at in the past needs the role admin.")
        connection = Connection(
            id=str(uuid4()),
            tenant_id=request.tenant_id,
            provider=request.provider,
            profile=request.profile,
            access=request.access,
            state=ConnectionState.PENDING,
            created_at=now,
            address=request.address,
            provider_tenant=request.provider_tenant,
            folders=request.folders,
            start_at=request.start_at,
            filter=request.filter,
            pending_reason=PendingReason.AUTHORIZATION_PENDING,
        )
        if request.access is Access.APPLICATION:
            return await self._activate_application(connection), None
        await self._require_room(request.tenant_id)
        await self._connections.add_connection(connection)
        return connection, await self.issue_ticket(connection.id)

    async def _require_room(self, tenant_id: str) -> None:
        """Without a lock: it bounds what a client in a loop leaves behind, and a few more do no harm."""
        limit = self._max_pending_sources
        if await self._connections.count_pending(tenant_id, up_to=limit) >= limit:
            raise TooManyPendingSources(
                f"{limit} doc sources of this tenant wait for a consent (MAILROOM_MAX_PENDING_SOURCES). Delete those "
                "that nobody will consent to; `GET /doc-sources` shows them as `pending`."
            )

    async def issue_ticket(self, doc_source_id: str) -> str:
        """The ticket of a new link. It is shown once, here: what is stored is its hash."""
        ticket = secrets.token_urlsafe(32)
        expires_at = self._clock() + self._durations.ticket_lifetime
        await self._flows.add_ticket(str(uuid4()), doc_source_id, sha256(ticket.encode()).digest(), expires_at)
        return ticket

    async def _activate_application(self, connection: Connection) -> Connection:
        traits = self._traits[connection.provider]
        if traits.application_access_needs_tenant and connection.provider_tenant is None:
            raise InvalidDocSource(f"provider_tenant is needed for application access to {traits.display_name}")
        address = (connection.address or "").lower()
        policy = self._policies.get(connection.tenant_id, ApplicationAccessPolicy())
        if refusal := policy.explain_refusal(
            address, connection.provider_tenant, has_provider_tenants=traits.application_access_needs_tenant
        ):
            raise MailboxNotAllowed(refusal)
        now = self._clock()
        # There is no user: the address stands for the user's id.
        activated = transitions.record_consent(
            replace(connection, address=address),
            Account(user_id=address, address=address, tenant=connection.provider_tenant, verified_addresses=(address,)),
            generation=0,
            now=now,
            start_at=now - self._durations.start_margin,
            next_backstop_at=self._durations.choose_first_backstop(now),
        )
        # After the policy: the provider is asked about no mailbox that this tenant may not open.
        await self._check_folders(activated)
        await self._connections.add_connection(activated, request_sync=SyncReason.CONNECT)
        self._wake.set()
        return activated

    async def _check_folders(self, connection: Connection) -> None:
        """A name that no folder has would match no mail, silently."""
        if not connection.folders:
            return
        lister = self._folder_listers.get(connection.provider)
        if lister is None:
            raise ProviderNotSetUp(f"{connection.provider} cannot be asked for its folders.")
        folders = await lister.list_folders(connection.build_mailbox())
        if missing := find_missing_folders(connection.folders, folders):
            raise InvalidDocSource(f"{connection.address} has no folder or label named {', '.join(missing)}")
