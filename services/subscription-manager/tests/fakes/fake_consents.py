"""What a consent needs, in memory: tickets and flows, grants, and the locks of doc sources and accounts."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from connection_samples import NOW

from mailroom_common.errors import Unavailable
from mailroom_common.tokens.sealing import CannotUnseal
from mailroom_common.tokens.store import StoredGrant, StoredTokens
from subscription_manager.ports import (
    ConsentFlow,
    ConsentTicket,
)


class FakeConsentFlowStore:
    def __init__(self) -> None:
        self.tickets: dict[bytes, ConsentTicket] = {}
        self.flows: dict[bytes, ConsentFlow] = {}

    async def add_ticket(self, ticket_id: str, doc_source_id: str, ticket_sha256: bytes, expires_at: datetime) -> None:
        self.tickets[ticket_sha256] = ConsentTicket(ticket_id, doc_source_id, expires_at, is_used=False)

    async def find_ticket(self, ticket_sha256: bytes) -> ConsentTicket | None:
        return self.tickets.get(ticket_sha256)

    async def redeem_ticket(
        self,
        ticket_id: str,
        now: datetime,
        *,
        state_sha256: bytes,
        cookie_sha256: bytes,
        sealed_flow_secrets: str,
        flow_expires_at: datetime,
    ) -> bool:
        (digest, ticket), *_ = [(d, t) for d, t in self.tickets.items() if t.id == ticket_id]
        if ticket.is_used or ticket.expires_at <= now:
            return False
        self.tickets[digest] = replace(ticket, is_used=True)
        self.flows[state_sha256] = ConsentFlow(
            ticket_id, ticket.doc_source_id, cookie_sha256, sealed_flow_secrets, flow_expires_at, finished_at=None
        )
        return True

    async def find_flow(self, state_sha256: bytes) -> ConsentFlow | None:
        return self.flows.get(state_sha256)

    async def finish_flow(self, flow_id: str, now: datetime) -> bool:
        (digest, flow), *_ = [(d, f) for d, f in self.flows.items() if f.id == flow_id]
        if flow.finished_at is not None:
            return False
        self.flows[digest] = replace(flow, finished_at=now)
        return True

    async def store_outcome(self, flow_id: str, sealed_outcome: str) -> None:
        (digest, flow), *_ = [(d, f) for d, f in self.flows.items() if f.id == flow_id]
        self.flows[digest] = replace(flow, sealed_outcome=sealed_outcome)


class FakeGrantStore:
    def __init__(self) -> None:
        self.stored: dict[str, StoredGrant] = {}
        self.forgotten: list[str] = []
        self.sealed_with_retired_key: set[str] = set()
        self._generations: dict[str, int] = defaultdict(int)

    async def put_grant(
        self, doc_source_id: str, provider: str, provider_user_id: str, tokens: StoredTokens, scopes: frozenset[str]
    ) -> int:
        self._generations[doc_source_id] += 1
        generation = self._generations[doc_source_id]
        self.stored[doc_source_id] = StoredGrant(
            doc_source_id, provider, provider_user_id, tokens, generation, scopes, NOW, None
        )
        return generation

    async def raise_generation(self, doc_source_id: str, *, above: int) -> int:
        if doc_source_id not in self.stored:
            return above
        generation = max(self._generations[doc_source_id], above + 1)
        self._generations[doc_source_id] = generation
        self.stored[doc_source_id] = replace(self.stored[doc_source_id], grant_generation=generation)
        return generation

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None:
        if doc_source_id in self.sealed_with_retired_key:
            raise CannotUnseal("a secret is sealed with key old, which MAILROOM_TOKEN_KEYS does not have")
        return self.stored.get(doc_source_id)

    async def forget_grant(self, doc_source_id: str) -> None:
        self.forgotten.append(doc_source_id)
        self.sealed_with_retired_key.discard(doc_source_id)
        self.stored.pop(doc_source_id, None)

    async def add_tokens(self, doc_source_id: str, provider: str = "outlook", provider_user_id: str = "user-1") -> None:
        """A grant whose refresh token names the doc source."""
        tokens = StoredTokens(f"access-{doc_source_id}", f"refresh-{doc_source_id}", NOW + timedelta(hours=1))
        await self.put_grant(doc_source_id, provider, provider_user_id, tokens, frozenset())


class FakeLockHandle:
    def __init__(self) -> None:
        self.is_lost = False

    def require_held(self) -> None:
        if self.is_lost:
            raise Unavailable("the lock is lost")


class FakeConnectionLocks:
    """`order` is the locks in the order in which they were given; `handle` is that of each doc source's lock."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.order: list[str] = []
        self.handle = FakeLockHandle()

    @asynccontextmanager
    async def lock_doc_source(self, doc_source_id: str) -> AsyncIterator[FakeLockHandle]:
        async with self._locks[f"doc_source:{doc_source_id}"]:
            self.order.append(f"doc_source:{doc_source_id}")
            yield self.handle

    @asynccontextmanager
    async def lock_account(self, provider: str, account_key: str) -> AsyncIterator[FakeLockHandle]:
        async with self._locks[f"account:{provider}:{account_key}"]:
            self.order.append(f"account:{provider}:{account_key}")
            yield FakeLockHandle()
