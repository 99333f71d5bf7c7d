"""The handlers that create and connect doc sources, composed as `app.py` does, over fakes."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from connection_samples import DURATIONS, OUTLOOK, PUBLIC_URL, TRAITS, URLS, Clock, WakeCounter
from fake_connection_store import FakeConnectionStore
from fake_consents import FakeConnectionLocks, FakeConsentFlowStore, FakeGrantStore
from fake_provider import FakeFolderLister, FakeProvider

from mailroom_common.errors import Unavailable
from mailroom_common.events import Access, Profile
from mailroom_common.tokens.sealing import SealingKeys
from subscription_manager.domain.application_access import ApplicationAccessPolicy
from subscription_manager.domain.connection import Connection
from subscription_manager.domain.subscription_schedule import SubscriptionStep, choose_step
from subscription_manager.handlers.change_connection_state import ChangeConnectionState
from subscription_manager.handlers.connect_mailbox import (
    AuthorizationRedirect,
    AuthorizationResponse,
    ConnectMailbox,
)
from subscription_manager.handlers.consent_outcomes import ConsentOutcomes
from subscription_manager.handlers.create_doc_source import CreateDocSource, DocSourceRequest
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.relist_doc_source import RelistDocSource

KEYS = SealingKeys.parse_keys("k:" + b64encode(bytes(32)).decode())
POLICIES = {"acme": ApplicationAccessPolicy(frozenset({"contoso-id"}), frozenset({"contoso.example"}))}


@pytest.fixture
def setup() -> "ConsentSetup":
    return ConsentSetup()


class ConsentSetup:
    """`provider` is Outlook, whose revocation is taken to end every grant of the account, as some providers' does."""

    def __init__(self, *connections: Connection) -> None:
        self.clock = Clock()
        self.connections = FakeConnectionStore(*connections, clock=self.clock)
        self.flows = FakeConsentFlowStore()
        self.grants = FakeGrantStore()
        self.provider = FakeProvider(replace(OUTLOOK, revocation_ends_account=True), clock=self.clock)
        self.folder_lister = FakeFolderLister()
        self.wake = WakeCounter()
        self.locks = FakeConnectionLocks()
        self.missing: str | None = None
        self.create = CreateDocSource(
            self.connections,
            self.flows,
            POLICIES,
            TRAITS,
            {"outlook": self.folder_lister},
            lambda _provider, _access: self.missing,
            DURATIONS,
            self.wake,
            self.clock,
            max_pending_sources=3,
        )
        self.connect = ConnectMailbox(
            self.connections,
            self.flows,
            self.grants,
            self.locks,
            {"outlook": self.provider},
            KEYS,
            ConsentOutcomes(self.flows, KEYS, max_wait_s=0.2, poll_interval_s=0.01),
            PUBLIC_URL,
            DURATIONS,
            self.wake,
            self.clock,
        )
        self.change = ChangeConnectionState(self.connections, self.grants, DURATIONS, self.wake, self.clock)
        self.relist = RelistDocSource(self.connections, self.clock)
        self.end = EndConnection(self.connections, self.locks, {}, {"outlook": self.provider}, self.grants, self.clock)

    async def delete_doc_source(self, doc_source_id: str) -> None:
        await self.change.delete_doc_source("acme", doc_source_id)

    async def end_connection(self, doc_source_id: str) -> Connection:
        """As the reconciler does with one that is due."""
        row = self.connections.rows[doc_source_id]
        assert choose_step(row, OUTLOOK.push, URLS, self.clock()) is SubscriptionStep.END
        assert row.next_check_at is not None
        await self.end.end_connection(row)
        return self.connections.rows[doc_source_id]

    async def create_with_link(self, **changed: object) -> tuple[Connection, str]:
        """A pending doc source and the ticket of its link."""
        request = DocSourceRequest(
            tenant_id="acme", provider="outlook", profile=Profile.INVOICE, access=Access.DELEGATED
        )
        changed_request = replace(request, **changed)  # type: ignore[arg-type]  # a test names fields freely
        connection, ticket = await self.create.create_doc_source(changed_request, may_start_earlier=True)
        assert ticket is not None
        return connection, ticket

    async def begin_consent(self, ticket: str) -> AuthorizationRedirect:
        return await self.connect.begin_consent("outlook", ticket)

    async def finish_consent(
        self, redirect: AuthorizationRedirect, *, code: str | None = "code-canary", cookie: str | None = None
    ) -> Connection:
        response = AuthorizationResponse(read_state(redirect), code, None)
        return await self.connect.finish_consent("outlook", response, hold_cookie(redirect, cookie or redirect.cookie))

    async def connect_mailbox(self) -> Connection:
        _, ticket = await self.create_with_link()
        return await self.finish_consent(await self.begin_consent(ticket))

    async def fail_consent_at_its_end(self, **changed: object) -> tuple[Connection, AuthorizationRedirect]:
        """Postgres goes away between the grant and the doc source."""
        connection, ticket = await self.create_with_link(**changed)
        redirect = await self.begin_consent(ticket)
        self.connections.before_lock = _raise_unavailable
        with pytest.raises(Unavailable):
            await self.finish_consent(redirect)
        return connection, redirect


async def _raise_unavailable() -> None:
    raise Unavailable("Postgres is away")


def read_state(redirect: AuthorizationRedirect) -> str:
    return parse_qs(urlsplit(redirect.url).query)["state"][0]


def hold_cookie(redirect: AuthorizationRedirect, value: str) -> Callable[[str], str | None]:
    """A browser that holds this cookie for the flow, and none for others."""
    return lambda flow_id: value if flow_id == redirect.flow_id else None
