"""What the end of a connection does at the provider, and what it leaves alone while the account serves another one."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta

from connection_fakes import NOW, Clock, FakeConnections, FakeGrants, FakeLocks, FakeProvider, a_connection

from mailroom_common.events import Access, Provider
from mailroom_common.providers.types import Subscription
from mailroom_common.tokens.store import StoredTokens
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, user_key
from subscription_manager.handlers.end_connection import EndConnection

ID = a_connection().id
OTHER = "22222222-2222-4222-8222-222222222222"
WATCH = CurrentSubscription(
    subscription_id="projects/p/topics/t", resource="me", expires_at=NOW + timedelta(days=6), touched_at=NOW
)


def deleting(**changed: object) -> Connection:
    fields = {
        "provider": Provider.GMAIL,
        "state": State.DELETING,
        "subscription": WATCH,
        "address": "Ada@gmail.example",
    }
    return a_connection(**{**fields, **changed})


class Ending:
    def __init__(self, *connections: Connection, provider: Provider = Provider.GMAIL) -> None:
        self.clock = Clock()
        self.connections = FakeConnections(*connections, clock=self.clock)
        self.locks = FakeLocks()
        self.provider = FakeProvider(provider, clock=self.clock)
        self.grants = FakeGrants()
        self.handler = EndConnection(
            self.connections,
            self.locks,
            {provider: self.provider},
            {provider: self.provider},
            self.grants,
            self.clock,
        )

    async def add_grant(self, doc_source_id: str = ID) -> None:
        tokens = StoredTokens("access", f"refresh-{doc_source_id}", NOW + timedelta(hours=1))
        await self.grants.put_grant(doc_source_id, self.provider.provider, "user-1", tokens, frozenset())

    async def end(self, doc_source_id: str = ID) -> Connection:
        await self.handler.end(self.connections.rows[doc_source_id])
        return self.connections.rows[doc_source_id]

    def calls(self) -> list[str]:
        return [note for note in self.provider.notes if note.startswith(("end", "revoke"))]


async def start(coroutine: Coroutine[None, None, object]) -> asyncio.Task[object]:
    """Run it as far as it comes by itself."""
    task = asyncio.ensure_future(coroutine)
    for _ in range(20):
        await asyncio.sleep(0)
    return task


async def test_account_that_somebody_connects_meanwhile_keeps_its_watch_and_its_grants() -> None:
    ending = Ending(deleting())
    await ending.add_grant()
    async with ending.locks.account(
        Provider.GMAIL, "ada@gmail.example"
    ):  # a consent for the same account is being stored
        task = await start(ending.end())
        assert ending.calls() == []
        ending.connections.rows[OTHER] = deleting(id=OTHER, tenant_id="other", state=State.ACTIVE)
    await task
    assert ending.calls() == []
    assert ending.connections.rows[ID].ended_at == NOW


async def test_user_who_connects_meanwhile_keeps_the_grant_though_an_unfinished_one_ends() -> None:
    unfinished = deleting(address=None, provider_user_id=None, subscription=None)
    ending = Ending(unfinished)
    await ending.add_grant()
    async with ending.locks.account(Provider.GMAIL, user_key("user-1")):
        task = await start(ending.end())
        ending.connections.rows[OTHER] = deleting(id=OTHER, tenant_id="other", state=State.ACTIVE)
    await task
    assert ending.calls() == []
    assert ending.grants.forgotten == [ID]


async def test_last_one_of_its_account_ends_the_watch_and_revokes() -> None:
    ending = Ending(deleting())
    await ending.add_grant()
    ended = await ending.end()
    assert ending.calls() == ["end projects/p/topics/t", f"revoke refresh-{ID}"]
    assert (ended.ended_at, ending.grants.forgotten) == (NOW, [ID])


async def test_application_access_has_no_grant_to_revoke() -> None:
    ending = Ending(deleting(access=Access.APPLICATION))
    await ending.add_grant()
    await ending.end()
    assert ending.calls() == ["end projects/p/topics/t"]


async def test_subscriptions_of_other_doc_sources_of_the_mailbox_stay() -> None:
    ending = Ending(deleting(provider=Provider.OUTLOOK), provider=Provider.OUTLOOK)
    ending.provider.living["named"] = Subscription("named", "me", NOW, doc_source_id=OTHER)
    ending.provider.living["unnamed"] = Subscription("unnamed", "me", NOW)
    await ending.end()
    assert ending.calls() == ["end projects/p/topics/t"]


async def test_one_that_was_taken_over_by_another_state_is_not_ended_twice() -> None:
    ending = Ending(deleting())
    before = ending.connections.rows[ID]
    ending.connections.rows[ID] = a_connection(provider=Provider.GMAIL)
    await ending.handler.end(before)
    assert ending.connections.rows[ID].ended_at is None
