from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest
from connection_fakes import NOW, URLS, Clock, FakeConnections, FakeFlows, FakeGrants, FakeLocks, FakeProvider

from mailroom_common.errors import ProviderUnavailable, Rejected, Unavailable
from mailroom_common.events import Access, Profile, Provider, SyncReason
from mailroom_common.providers.types import Account
from mailroom_common.tokens.sealing import SealingKeys
from subscription_manager.domain import transitions
from subscription_manager.domain.application_access import Reach
from subscription_manager.domain.attention import Step, next_step
from subscription_manager.domain.connection import Connection, State, Status
from subscription_manager.handlers.change_state import ChangeState
from subscription_manager.handlers.connect_mailbox import Answer, ConnectMailbox, FlowRefused, Sent
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.make_doc_source import MakeDocSource, NotAllowed, NotSetUp, Timings, Wanted
from subscription_manager.ports import AlreadyConnected

TIMINGS = Timings(
    backstop_interval=timedelta(minutes=15),
    start_margin=timedelta(minutes=1),
    ticket_lifetime=timedelta(hours=1),
    flow_lifetime=timedelta(minutes=10),
)
KEYS = SealingKeys.parse("k:" + b64encode(bytes(32)).decode())


class Wake:
    def __init__(self) -> None:
        self.count = 0

    def set(self) -> None:
        self.count += 1


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.connections = FakeConnections(clock=self.clock)
        self.flows = FakeFlows()
        self.grants = FakeGrants()
        self.provider = FakeProvider(clock=self.clock)
        self.wake = Wake()
        self.locks = FakeLocks()
        self.missing: str | None = None
        self.make = MakeDocSource(
            self.connections,
            self.flows,
            {"acme": Reach(frozenset({"contoso-id"}), frozenset({"contoso.example"}))},
            lambda _provider, _access: self.missing,
            TIMINGS,
            self.wake,
            self.clock,
        )
        self.connect = ConnectMailbox(
            self.connections,
            self.flows,
            self.grants,
            self.locks,
            {Provider.OUTLOOK: self.provider},
            KEYS,
            "https://mailroom.example",
            TIMINGS,
            self.wake,
            self.clock,
        )

        self.state = ChangeState(self.connections, self.grants, TIMINGS, self.wake, self.clock)
        self.ending = EndConnection(
            self.connections,
            self.locks,
            {Provider.OUTLOOK: self.provider},
            {Provider.OUTLOOK: self.provider},
            self.grants,
            self.clock,
        )

    async def delete(self, doc_source_id: str) -> None:
        await self.state.delete("acme", doc_source_id)

    async def end(self, doc_source_id: str) -> Connection:
        """As the keeper does with one that is due."""
        row = self.connections.rows[doc_source_id]
        assert next_step(row, URLS, self.clock()) is Step.END
        assert row.attention_at is not None
        await self.ending.end(row)
        return self.connections.rows[doc_source_id]

    def revoked(self) -> list[str]:
        return [note for note in self.provider.notes if note.startswith("revoke")]

    async def consent_that_fails_at_its_end(self, **changed: object) -> tuple[Connection, Sent]:
        """Postgres goes away between the grant and the doc source."""
        made, ticket = await self.made(**changed)
        sent = await self.sent(ticket)
        self.connections.before_change = _postgres_goes_away
        with pytest.raises(Unavailable):
            await self.back(sent)
        return made, sent

    async def made(self, **changed: object) -> tuple[Connection, str]:
        wanted = Wanted(tenant_id="acme", provider=Provider.OUTLOOK, profile=Profile.INVOICE, access=Access.DELEGATED)
        connection, ticket = await self.make.make(replace(wanted, **changed))  # type: ignore[arg-type]
        assert ticket is not None
        return connection, ticket

    async def sent(self, ticket: str) -> Sent:
        return await self.connect.begin(Provider.OUTLOOK, ticket)

    async def back(self, sent: Sent, *, code: str | None = "code-canary", cookie: str | None = None) -> Connection:
        return await self.connect.finish(
            Provider.OUTLOOK, Answer(_state(sent), code, None), _cookie(sent, cookie or sent.cookie)
        )

    async def connected(self) -> Connection:
        _, ticket = await self.made()
        return await self.back(await self.sent(ticket))


async def _postgres_goes_away() -> None:
    raise Unavailable("Postgres is away")


def _state(sent: Sent) -> str:
    return parse_qs(urlsplit(sent.url).query)["state"][0]


def _cookie(sent: Sent, value: str) -> Callable[[str], str | None]:
    return lambda flow_id: value if flow_id == sent.flow_id else None


@pytest.fixture
def world() -> World:
    return World()


async def test_delegated_doc_source_waits_for_consent(world: World) -> None:
    made, _ = await world.made()
    assert (made.state, made.status, made.reason) == (State.PENDING, None, "authorization_pending")
    assert world.connections.asked == []
    assert [version for _, version, _ in world.connections.told] == [1]


async def test_ticket_is_stored_as_its_hash_only(world: World) -> None:
    _, ticket = await world.made()
    assert list(world.flows.tickets) == [sha256(ticket.encode()).digest()]
    assert ticket not in repr(world.flows.tickets)


async def test_looking_at_a_link_does_not_use_it_up(world: World) -> None:
    made, ticket = await world.made()
    for _ in range(3):
        assert (await world.connect.look_at(Provider.OUTLOOK, ticket)).id == made.id
    assert (await world.sent(ticket)).url


async def test_ticket_is_good_once(world: World) -> None:
    _, ticket = await world.made()
    await world.sent(ticket)
    with pytest.raises(FlowRefused, match="used already"):
        await world.sent(ticket)
    with pytest.raises(FlowRefused, match="used already"):
        await world.connect.look_at(Provider.OUTLOOK, ticket)


async def test_ticket_expires(world: World) -> None:
    _, ticket = await world.made()
    world.clock.advance(timedelta(hours=1))
    with pytest.raises(FlowRefused, match="expired"):
        await world.sent(ticket)


@pytest.mark.parametrize("ticket", ["", "guess"])
async def test_unknown_ticket_is_refused(world: World, ticket: str) -> None:
    with pytest.raises(FlowRefused, match="not valid"):
        await world.connect.look_at(Provider.OUTLOOK, ticket)


async def test_ticket_of_one_provider_opens_no_page_of_another(world: World) -> None:
    _, ticket = await world.made()
    with pytest.raises(FlowRefused, match="not valid"):
        await world.connect.look_at(Provider.GMAIL, ticket)


async def test_browser_is_sent_with_pkce_and_the_exact_redirect(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    await world.back(sent)
    (exchanged,) = world.provider.exchanged
    asked = parse_qs(urlsplit(sent.url).query)
    challenge = urlsafe_b64encode(sha256((exchanged["verifier"] or "").encode()).digest()).decode().rstrip("=")
    assert asked["code_challenge"] == [challenge]
    assert asked["nonce"] == [exchanged["nonce"]]
    assert exchanged["redirect"] == "https://mailroom.example/oauth/outlook/callback"
    assert world.provider.notes[0] == "authorize https://mailroom.example/oauth/outlook/callback"


async def test_verifier_and_nonce_are_sealed_and_state_and_cookie_hashed(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    kept = repr(world.flows.flows) + "".join(flow.sealed for flow in world.flows.flows.values())
    await world.back(sent)
    (exchanged,) = world.provider.exchanged
    for secret in (_state(sent), sent.cookie, exchanged["verifier"], exchanged["nonce"], ticket):
        assert secret is not None
        assert secret not in kept


async def test_consent_is_one_change_active_with_start_and_first_sync(world: World) -> None:
    connected = await world.connected()
    assert (connected.state, connected.status, connected.reason) == (State.ACTIVE, Status.ACTIVE, None)
    assert (connected.address, connected.provider_user_id) == ("ada@contoso.example", "user-1")
    assert connected.start_at == NOW - timedelta(minutes=1)
    assert connected.grant_generation == 1
    assert connected.attention_at == NOW
    assert connected.backstop_at is not None
    assert NOW <= connected.backstop_at <= NOW + timedelta(minutes=15)
    assert world.connections.asked == [(connected.id, SyncReason.CONNECT)]
    assert [version for _, version, _ in world.connections.told] == [1, 2]
    assert world.wake.count == 1


async def test_start_at_that_was_asked_for_stays(world: World) -> None:
    asked = NOW - timedelta(days=30)
    _, ticket = await world.made(start_at=asked)
    assert (await world.back(await world.sent(ticket))).start_at == asked


async def test_tokens_go_to_the_store_and_nowhere_else(world: World) -> None:
    connected = await world.connected()
    grant = world.grants.stored[connected.id]
    assert (grant.tokens.access_token, grant.tokens.refresh_token) == ("access-canary", "refresh-canary")
    everything = repr((world.connections.rows, world.connections.told, world.flows.flows, grant))
    assert "canary" not in everything


async def test_connecting_takes_the_locks_of_the_account(world: World) -> None:
    await world.connected()
    assert world.locks.order == ["account:outlook:ada@contoso.example", "account:outlook:user:user-1"]


async def test_another_browser_cannot_finish_and_does_not_spoil_it(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    with pytest.raises(FlowRefused, match="another browser"):
        await world.back(sent, cookie="stolen")
    with pytest.raises(FlowRefused, match="another browser"):
        await world.connect.finish(Provider.OUTLOOK, Answer(_state(sent), "code", None), lambda _: None)
    assert world.provider.exchanged == []
    assert (await world.back(sent)).state is State.ACTIVE


@pytest.mark.parametrize("state", ["", "guess"])
async def test_unknown_state_is_refused(world: World, state: str) -> None:
    with pytest.raises(FlowRefused, match="no connection that was begun"):
        await world.connect.finish(Provider.OUTLOOK, Answer(state, "code", None), lambda _: "cookie")


async def test_answer_counts_once(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    await world.back(sent)
    with pytest.raises(FlowRefused, match="done already"):
        await world.back(sent)
    assert len(world.provider.exchanged) == 1


async def test_answer_that_comes_too_late_is_refused(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    world.clock.advance(timedelta(minutes=10))
    with pytest.raises(FlowRefused, match="too long"):
        await world.back(sent)


async def test_declined_consent_changes_nothing_and_ends_the_flow(world: World) -> None:
    made, ticket = await world.made()
    sent = await world.sent(ticket)
    with pytest.raises(FlowRefused, match="did not give access"):
        await world.back(sent, code=None)
    with pytest.raises(FlowRefused):
        await world.back(sent)
    assert world.connections.rows[made.id].state is State.PENDING


async def test_answer_for_another_provider_is_refused(world: World) -> None:
    _, ticket = await world.made()
    sent = await world.sent(ticket)
    with pytest.raises(FlowRefused):
        await world.connect.finish(Provider.GMAIL, Answer(_state(sent), "code", None), _cookie(sent, sent.cookie))


async def test_answer_with_wrong_issuer_or_scopes_is_refused_readably(world: World) -> None:
    made, ticket = await world.made()
    world.provider.fail["exchange"] = Rejected("scopes are missing")
    with pytest.raises(FlowRefused, match="not every permission"):
        await world.back(await world.sent(ticket))
    assert world.connections.rows[made.id].state is State.PENDING


async def test_access_without_a_refresh_token_is_refused(world: World) -> None:
    made, ticket = await world.made()
    world.provider.refresh_token = None
    with pytest.raises(FlowRefused, match="this moment only"):
        await world.back(await world.sent(ticket))
    assert world.grants.stored == {}
    assert world.connections.rows[made.id].state is State.PENDING


async def test_provider_that_is_away_at_the_exchange_is_said_to_be_away(world: World) -> None:
    _, ticket = await world.made()
    world.provider.fail["exchange"] = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await world.back(await world.sent(ticket))


async def test_reconnect_by_the_same_user_raises_the_generation_and_ends_the_trouble(world: World) -> None:
    connected = await world.connected()
    world.connections.rows[connected.id] = replace(
        connected, status=Status.TOKEN_REFRESH_FAILED, reason="token_refused", last_error="x"
    )
    ticket = await world.make.ticket(connected.id)
    again = await world.back(await world.sent(ticket))
    assert (again.grant_generation, again.status, again.reason, again.last_error) == (2, Status.ACTIVE, None, None)
    assert again.start_at == connected.start_at


async def test_reconnect_by_another_user_is_refused_and_the_old_grant_stays(world: World) -> None:
    connected = await world.connected()
    world.provider.account = Account("user-2", "eve@contoso.example")
    ticket = await world.make.ticket(connected.id)
    with pytest.raises(FlowRefused, match="another mailbox"):
        await world.back(await world.sent(ticket))
    assert world.grants.stored[connected.id].generation == 1
    assert world.connections.rows[connected.id].address == "ada@contoso.example"
    assert not [note for note in world.provider.notes if note.startswith("revoke")]


async def test_reconnect_of_a_paused_one_leaves_it_paused(world: World) -> None:
    connected = await world.connected()
    world.connections.rows[connected.id] = transitions.paused(connected)
    again = await world.back(await world.sent(await world.make.ticket(connected.id)))
    assert again.state is State.PAUSED


async def test_mailbox_is_connected_once_per_tenant_and_profile(world: World) -> None:
    await world.connected()
    second, ticket = await world.made()
    with pytest.raises(FlowRefused, match="connected for this purpose already"):
        await world.back(await world.sent(ticket))
    assert second.id in world.grants.forgotten
    assert world.connections.rows[second.id].state is State.PENDING
    _, ticket = await world.made(profile=Profile.OBSERVATION)
    assert (await world.back(await world.sent(ticket))).state is State.ACTIVE
    _, ticket = await world.made(tenant_id="other")
    assert (await world.back(await world.sent(ticket))).state is State.ACTIVE


async def test_deleted_meanwhile_is_refused(world: World) -> None:
    connected = await world.connected()
    sent = await world.sent(await world.make.ticket(connected.id))
    world.connections.rows[connected.id] = transitions.deleting(connected, NOW)
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)


async def test_deleted_during_the_exchange_is_refused_before_a_grant_is_stored(world: World) -> None:
    connected = await world.connected()
    sent = await world.sent(await world.make.ticket(connected.id))

    async def delete() -> None:
        world.connections.rows[connected.id] = transitions.deleting(connected, NOW)

    world.provider.before["identify"] = delete
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.grants.stored[connected.id].generation == 1


async def test_pending_one_that_is_gone_before_it_is_activated_gives_the_grant_back(world: World) -> None:
    made, ticket = await world.made()
    sent = await world.sent(ticket)

    async def delete_that_looked_before_the_grant_came() -> None:
        world.connections.rows[made.id] = transitions.deleting(world.connections.rows[made.id], NOW)

    world.connections.before_change = delete_that_looked_before_the_grant_came
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]


async def test_pending_one_that_is_deleted_before_it_is_activated_leaves_the_grant_to_its_end(world: World) -> None:
    made, ticket = await world.made()
    sent = await world.sent(ticket)
    world.connections.before_change = lambda: world.delete(made.id)
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.revoked() == []
    assert (await world.end(made.id)).state is State.GONE
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]


async def test_deleted_during_the_exchange_gives_back_what_the_person_has_just_granted(world: World) -> None:
    made, ticket = await world.made()
    sent = await world.sent(ticket)
    world.provider.before["exchange"] = lambda: world.delete(made.id)
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]


async def test_grant_of_one_whose_end_is_yet_to_come_is_left_for_it(world: World) -> None:
    connected = await world.connected()
    sent = await world.sent(await world.make.ticket(connected.id))
    world.connections.before_change = lambda: world.delete(connected.id)
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.revoked() == []
    await world.end(connected.id)
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]


async def test_grant_that_comes_after_the_end_is_given_back(world: World) -> None:
    connected = await world.connected()
    sent = await world.sent(await world.make.ticket(connected.id))

    async def end() -> None:
        await world.delete(connected.id)
        await world.end(connected.id)
        world.provider.notes.clear()

    world.provider.before["identify"] = end
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]


async def test_grant_is_not_revoked_while_another_doc_source_of_the_account_lives(world: World) -> None:
    await world.connected()
    made, ticket = await world.made(tenant_id="other")
    sent = await world.sent(ticket)

    async def delete() -> None:
        await world.state.delete("other", made.id)

    world.provider.before["identify"] = delete
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)
    assert made.id in world.grants.forgotten
    assert world.revoked() == []


async def test_refusal_is_told_though_the_revoke_fails(world: World) -> None:
    made, ticket = await world.made()
    sent = await world.sent(ticket)
    world.provider.before["exchange"] = lambda: world.delete(made.id)
    world.provider.fail["revoke"] = ProviderUnavailable("503")
    with pytest.raises(FlowRefused, match="does not exist"):
        await world.back(sent)


async def test_delete_of_a_pending_one_gives_back_the_grant_that_a_failed_consent_left(world: World) -> None:
    made, _ = await world.consent_that_fails_at_its_end(address="somebody@contoso.example")
    assert made.id in world.grants.stored
    wakes = world.wake.count
    await world.delete(made.id)
    assert world.wake.count == wakes + 1
    assert (await world.end(made.id)).state is State.GONE
    assert world.grants.stored == {}
    assert world.revoked() == ["revoke refresh-canary"]
    assert world.connections.told[-1][2] is None


async def test_left_grant_is_kept_until_the_provider_has_taken_it_back(world: World) -> None:
    made, _ = await world.consent_that_fails_at_its_end()
    await world.delete(made.id)
    world.provider.fail["revoke"] = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await world.end(made.id)
    assert made.id in world.grants.stored
    world.provider.fail.clear()
    assert (await world.end(made.id)).state is State.GONE
    assert world.grants.stored == {}


async def test_left_grant_is_forgotten_only_while_another_doc_source_of_its_user_lives(world: World) -> None:
    made, _ = await world.consent_that_fails_at_its_end()
    world.provider.account = replace(world.provider.account, address="renamed@contoso.example")
    other = await world.connected()
    await world.delete(made.id)
    assert (await world.end(made.id)).state is State.GONE
    assert list(world.grants.stored) == [other.id]
    assert world.revoked() == []


async def test_next_consent_mends_one_that_failed_at_its_end(world: World) -> None:
    made, _ = await world.consent_that_fails_at_its_end()
    again = await world.back(await world.sent(await world.make.ticket(made.id)))
    assert (again.state, again.grant_generation) == (State.ACTIVE, 2)


class TestApplicationAccess:
    def wanted(self, **changed: object) -> Wanted:
        wanted = Wanted(
            tenant_id="acme",
            provider=Provider.OUTLOOK,
            profile=Profile.CONTRACT_NOTE,
            access=Access.APPLICATION,
            address="Desk@contoso.example",
            provider_tenant="contoso-id",
        )
        return replace(wanted, **changed)  # type: ignore[arg-type]  # a test names fields freely

    async def test_begins_at_once_and_the_address_stands_for_the_user(self, world: World) -> None:
        made, ticket = await world.make.make(self.wanted())
        assert ticket is None
        assert (made.state, made.status) == (State.ACTIVE, Status.ACTIVE)
        assert made.address == made.provider_user_id == "desk@contoso.example"
        assert world.connections.asked == [(made.id, SyncReason.CONNECT)]
        assert world.wake.count == 1

    @pytest.mark.parametrize(
        "changed",
        [
            {"provider_tenant": "fabrikam-id"},
            {"provider_tenant": None},
            {"address": "desk@fabrikam.example"},
            {"address": "desk@contoso.example.evil.example"},
            {"tenant_id": "other"},
            {"provider": Provider.GMAIL, "address": "desk@fabrikam.example"},
        ],
    )
    async def test_nothing_is_reached_that_the_operator_did_not_allow(
        self, world: World, changed: dict[str, object]
    ) -> None:
        with pytest.raises(NotAllowed):
            await world.make.make(self.wanted(**changed))
        assert world.connections.rows == {}

    async def test_allowed_domain_is_enough_for_gmail(self, world: World) -> None:
        made, _ = await world.make.make(self.wanted(provider=Provider.GMAIL, provider_tenant=None))
        assert made.state is State.ACTIVE

    async def test_second_one_of_the_same_address_and_profile_is_refused(self, world: World) -> None:
        await world.make.make(self.wanted())
        with pytest.raises(AlreadyConnected):
            await world.make.make(self.wanted(address="DESK@contoso.example"))

    async def test_missing_settings_are_named(self, world: World) -> None:
        world.missing = "MAILROOM_MICROSOFT_CLIENT_ID is not set."
        with pytest.raises(NotSetUp, match="MAILROOM_MICROSOFT_CLIENT_ID"):
            await world.make.make(self.wanted())
