"""One refresh at a time for a grant, whoever asks, and no result that outlives its grant."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import orjson
import pytest
from provider_client_fixtures import KEYS

from mailroom_common.errors import AccessDenied, ProviderUnavailable, TokenRefused, Unavailable
from mailroom_common.events import Access, Profile
from mailroom_common.metrics import TOKEN_REFRESHES
from mailroom_common.postgres import open_pool
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.types import Grant, Mailbox
from mailroom_common.tokens import access
from mailroom_common.tokens.access import AccessTokens
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredGrant, StoredTokens, TokenStore
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Refresher:
    """Plays a token endpoint. `hold` keeps it from answering; `before_answer` happens while it is being asked."""

    refuses: bool = False
    rotates: bool = True
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    before_answer: Callable[[], Awaitable[None]] | None = None
    presented: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hold.set()

    async def refresh_grant(self, mailbox: Mailbox, refresh_token: str) -> Grant:
        self.presented.append(refresh_token)
        self.asked.set()
        await self.hold.wait()
        if self.before_answer is not None:
            await self.before_answer()
        if self.refuses:
            raise TokenRefused("invalid_grant", grant_generation=0)
        number = len(self.presented)
        return Grant(f"access-{number}", f"refresh-{number}" if self.rotates else None, NOW + HOUR, frozenset())


@pytest.fixture
def refresher() -> Refresher:
    return Refresher()


@pytest.fixture
def tokens(store: TokenStore, refresher: Refresher) -> AccessTokens:
    return AccessTokens(store, {"outlook": refresher}, {}, clock=Clock())


@pytest.fixture
async def mailbox(store: TokenStore) -> Mailbox:
    """Connected, with an access token that has one more minute."""
    described = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider="outlook",
        access=Access.DELEGATED,
        profile=Profile.INVOICE,
        address="ap@contoso.example",
        provider_user_id="user-1",
    )
    return replace(described, grant_generation=await put(store, described, NOW + timedelta(minutes=1)))


async def put(store: TokenStore, mailbox: Mailbox, expires_at: datetime, name: str = "0") -> int:
    stored = StoredTokens(f"access-{name}", f"refresh-{name}", expires_at)
    return await store.put_grant(mailbox.doc_source_id, mailbox.provider, "user-1", stored, frozenset({"Mail.Read"}))


async def test_token_that_lives_on_is_used_without_asking(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    await put(store, mailbox, NOW + HOUR)
    assert await tokens.get_access_token(mailbox) == "access-0"
    assert refresher.presented == []


async def test_token_with_less_than_two_minutes_is_refreshed_and_the_rotated_pair_stored(
    store: TokenStore, tokens: AccessTokens, mailbox: Mailbox
) -> None:
    assert await tokens.get_access_token(mailbox) == "access-1"
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert (grant.tokens.access_token, grant.tokens.refresh_token) == ("access-1", "refresh-1")
    assert grant.grant_generation == mailbox.grant_generation


async def test_refresh_token_that_is_not_rotated_is_kept(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.rotates = False
    await tokens.get_access_token(mailbox)
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.tokens.refresh_token == "refresh-0"


async def test_many_who_ask_at_once_share_one_refresh(
    tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    assert set(await asyncio.gather(*(tokens.get_access_token(mailbox) for _ in range(50)))) == {"access-1"}
    again = await asyncio.gather(*(tokens.get_access_token(mailbox, rejected="access-1") for _ in range(50)))
    assert set(again) == {"access-2"}
    assert refresher.presented == ["refresh-0", "refresh-1"]


async def test_who_asks_for_another_than_the_rejected_token_gets_another_though_one_is_under_way(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    await put(store, mailbox, NOW + HOUR)
    first, second = await asyncio.gather(
        tokens.get_access_token(mailbox), tokens.get_access_token(mailbox, rejected="access-0")
    )
    assert (first, second) == ("access-0", "access-1")


async def test_who_is_cancelled_while_the_provider_answers_does_not_lose_the_rotated_token(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.hold.clear()
    asking = asyncio.create_task(tokens.get_access_token(mailbox))
    await refresher.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    refresher.hold.set()
    await tokens.aclose()
    assert not tokens._running
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.tokens.refresh_token == "refresh-1"


async def test_fresh_token_is_used_only_when_it_is_stored(
    store: TokenStore, postgres_url: str, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.before_answer = lambda: end_sessions(postgres_url)
    with pytest.raises(Unavailable):
        await tokens.get_access_token(mailbox)
    refresher.before_answer = None
    assert await tokens.get_access_token(mailbox) == "access-2"
    assert refresher.presented == ["refresh-0", "refresh-0"]


async def test_refused_grant_is_not_asked_for_again_until_the_next_consent(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.refuses = True
    for _ in range(2):
        with pytest.raises(TokenRefused) as refused:
            await tokens.get_access_token(mailbox)
        assert refused.value.grant_generation == mailbox.grant_generation
    assert refresher.presented == ["refresh-0"]
    newer = replace(mailbox, grant_generation=await put(store, mailbox, NOW + HOUR, "new"))
    assert await tokens.get_access_token(newer) == "access-new"


async def test_late_refusal_of_an_old_generation_does_not_condemn_a_new_grant(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.refuses = True
    refresher.hold.clear()
    asking = asyncio.create_task(tokens.get_access_token(mailbox))
    await refresher.asked.wait()
    consenting = asyncio.create_task(put(store, mailbox, NOW + HOUR, "new"))
    await asyncio.sleep(0.1)
    refresher.hold.set()
    with pytest.raises(TokenRefused) as refused:
        await asking
    assert refused.value.grant_generation == mailbox.grant_generation
    newer = replace(mailbox, grant_generation=await consenting)
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert (grant.refused_at, grant.grant_generation) == (None, mailbox.grant_generation + 1)
    assert await tokens.get_access_token(newer) == "access-new"


@pytest.mark.parametrize("refuses", [True, False])
async def test_refresh_that_lost_its_lock_neither_overwrites_nor_condemns_a_new_grant(
    store: TokenStore, postgres_url: str, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox, refuses: bool
) -> None:
    refresher.refuses = refuses

    async def meanwhile() -> None:
        await end_sessions(postgres_url)
        await put(store, mailbox, NOW + HOUR, "new")

    refresher.before_answer = meanwhile
    with pytest.raises(Unavailable):
        await tokens.get_access_token(mailbox)
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert (grant.tokens.access_token, grant.refused_at) == ("access-new", None)


async def test_token_of_an_older_grant_is_not_used_for_a_newer_one(
    store: TokenStore, tokens: AccessTokens, mailbox: Mailbox
) -> None:
    await put(store, mailbox, NOW + HOUR)
    assert await tokens.get_access_token(mailbox) == "access-0"
    newer = replace(mailbox, grant_generation=await put(store, mailbox, NOW + HOUR, "new"))
    assert await tokens.get_access_token(newer) == "access-new"


async def test_provider_in_trouble_condemns_nothing(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    async def down() -> None:
        raise ProviderUnavailable("the token endpoint answered 503")

    refresher.before_answer = down
    with pytest.raises(ProviderUnavailable):
        await tokens.get_access_token(mailbox)
    refresher.before_answer = None
    assert await tokens.get_access_token(mailbox) == "access-2"


async def test_application_token_is_shared_by_its_key_until_two_minutes_before_it_ends(store: TokenStore) -> None:
    clock, asked = Clock(), []

    class Issuer:
        def build_cache_key(self, mailbox: Mailbox) -> str:
            return str(mailbox.provider_tenant)

        async def issue_token(self, mailbox: Mailbox) -> Grant:
            asked.append(mailbox.provider_tenant)
            return Grant(f"app-{len(asked)}", None, clock() + HOUR, frozenset())

    tokens = AccessTokens(store, {}, {"outlook": Issuer()}, clock=clock)
    one = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider="outlook",
        access=Access.APPLICATION,
        profile=Profile.CONTRACT_NOTE,
        address="trades@contoso.example",
        provider_tenant="tenant-1",
        grant_generation=5,
    )
    other = replace(one, doc_source_id=str(uuid.uuid4()), address="more@contoso.example")
    assert set(await asyncio.gather(*(tokens.get_access_token(box) for box in (one, other) * 10))) == {"app-1"}
    clock.now += HOUR - timedelta(minutes=3)
    assert await tokens.get_access_token(one) == "app-1"
    clock.now += timedelta(minutes=1)
    assert await tokens.get_access_token(one) == "app-2"
    assert await tokens.get_access_token(other, rejected="app-2") == "app-3"
    assert await tokens.get_access_token(replace(one, provider_tenant="tenant-2")) == "app-4"
    with pytest.raises(AccessDenied):
        await tokens.get_access_token(replace(one, provider="gmail"))


@dataclass
class ApplicationIssuer:
    """Issues `app-1`, `app-2` …; one for each mailbox."""

    clock: Clock
    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    def build_cache_key(self, mailbox: Mailbox) -> str:
        return mailbox.address

    async def issue_token(self, mailbox: Mailbox) -> Grant:
        if self.is_down:
            raise ProviderUnavailable("the token endpoint answered 503")
        self.asked.append(mailbox.address)
        return Grant(f"app-{len(self.asked)}", None, self.clock() + HOUR, frozenset())


async def test_a_rejected_token_is_forgotten_though_no_other_could_be_had(store: TokenStore, mailbox: Mailbox) -> None:
    issuer = ApplicationIssuer(clock := Clock())
    tokens = AccessTokens(store, {}, {"outlook": issuer}, clock=clock)
    application = replace(mailbox, access=Access.APPLICATION)
    assert await tokens.get_access_token(application) == "app-1"
    issuer.is_down = True
    with pytest.raises(ProviderUnavailable):
        await tokens.get_access_token(application, rejected="app-1")
    issuer.is_down = False
    assert await tokens.get_access_token(application) == "app-2"


async def test_the_oldest_of_too_many_tokens_is_dropped_and_no_other(
    store: TokenStore, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_MAX_CACHED", 2)
    issuer = ApplicationIssuer(clock := Clock())
    tokens = AccessTokens(store, {}, {"outlook": issuer}, clock=clock)
    boxes = [replace(mailbox, access=Access.APPLICATION, address=f"{name}@contoso.example") for name in "abc"]
    for box in boxes:
        await tokens.get_access_token(box)
    assert await tokens.get_access_token(boxes[1]) == "app-2"
    assert await tokens.get_access_token(boxes[2]) == "app-3"
    assert await tokens.get_access_token(boxes[0]) == "app-4"


async def test_a_grant_without_a_refresh_token_needs_consent_and_nobody_is_asked(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    stored = StoredTokens("access-0", None, NOW + timedelta(minutes=1))
    generation = await store.put_grant(mailbox.doc_source_id, "outlook", "user-1", stored, frozenset())
    with pytest.raises(TokenRefused) as refused:
        await tokens.get_access_token(replace(mailbox, grant_generation=generation))
    assert refused.value.grant_generation == generation
    assert refresher.presented == []
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.refused_at is not None


async def test_a_refused_grant_is_not_used_though_its_access_token_lives_on(
    store: TokenStore, tokens: AccessTokens, mailbox: Mailbox
) -> None:
    await put(store, mailbox, NOW + HOUR)
    async with store.lock_for_refresh(mailbox.doc_source_id) as locked:
        assert locked is not None
        await locked.mark_refused()
    with pytest.raises(TokenRefused):
        await tokens.get_access_token(mailbox)


async def test_a_process_that_waited_for_the_lock_believes_the_refusal_that_another_was_given(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.refuses = True
    refresher.hold.clear()
    elsewhere = AccessTokens(store, {"outlook": refresher}, {}, clock=Clock())
    asking = [asyncio.create_task(one.get_access_token(mailbox)) for one in (tokens, elsewhere)]
    await refresher.asked.wait()
    await asyncio.sleep(0.2)  # the second one waits in Postgres, which gives no sign of it
    refresher.hold.set()
    for outcome in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(outcome, TokenRefused)
        assert outcome.grant_generation == mailbox.grant_generation
    assert refresher.presented == ["refresh-0"]


async def test_a_process_that_waited_for_the_lock_uses_the_token_that_another_was_given(
    store: TokenStore, tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox
) -> None:
    refresher.hold.clear()
    elsewhere = AccessTokens(store, {"outlook": refresher}, {}, clock=Clock())
    asking = [asyncio.create_task(one.get_access_token(mailbox)) for one in (tokens, elsewhere)]
    await refresher.asked.wait()
    await asyncio.sleep(0.2)  # the second one waits in Postgres, which gives no sign of it
    refresher.hold.set()
    assert await asyncio.gather(*asking) == ["access-1", "access-1"]
    assert refresher.presented == ["refresh-0"]


async def test_a_provider_that_is_not_set_up_condemns_no_grant(store: TokenStore, mailbox: Mailbox) -> None:
    with pytest.raises(AccessDenied, match="outlook"):
        await AccessTokens(store, {}, {}, clock=Clock()).get_access_token(mailbox)
    grant = await store.read_grant(mailbox.doc_source_id)
    assert grant is not None
    assert grant.refused_at is None


async def test_a_grant_that_is_forgotten_before_the_lock_is_had_needs_consent(
    pool_store: "ForgettingStore", refresher: Refresher, mailbox: Mailbox
) -> None:
    tokens = AccessTokens(pool_store, {"outlook": refresher}, {}, clock=Clock())
    with pytest.raises(TokenRefused) as refused:
        await tokens.get_access_token(mailbox)
    assert refused.value.grant_generation == mailbox.grant_generation
    assert refresher.presented == []


class ForgettingStore(TokenStore):
    """Somebody disconnects between the look at a grant and its lock."""

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None:
        grant = await super().read_grant(doc_source_id)
        await self.forget_grant(doc_source_id)
        return grant


@pytest.fixture
async def pool_store(postgres_url: str, store: TokenStore) -> AsyncIterator[ForgettingStore]:
    async with open_pool(postgres_url, application_name="forgetting", max_size=2) as pool:
        yield ForgettingStore(pool, SealingKeys.parse_keys(KEYS), url=postgres_url)


@pytest.mark.parametrize("outcome", ["fresh", "refused", "failed"])
async def test_each_refresh_is_counted_by_its_outcome(
    tokens: AccessTokens, refresher: Refresher, mailbox: Mailbox, outcome: str
) -> None:
    async def down() -> None:
        raise ProviderUnavailable("the token endpoint answered 503")

    refresher.refuses = outcome == "refused"
    refresher.before_answer = down if outcome == "failed" else None
    counts = {one: count_refreshes(one) for one in ("fresh", "refused", "failed")}
    with suppress(TokenRefused, ProviderUnavailable):
        await tokens.get_access_token(mailbox)
    assert {one: count_refreshes(one) for one in counts} == counts | {outcome: counts[outcome] + 1}


def count_refreshes(outcome: str) -> float:
    return float(TOKEN_REFRESHES.labels("outlook", outcome)._value.get())


async def test_two_processes_that_refresh_at_once_make_one_refresh(
    sandbox: RunningProviders,
    connect: Callable[..., Awaitable[Mailbox]],
    store: TokenStore,
    postgres_url: str,
) -> None:
    connected = await connect("outlook", "ap@contoso.example", str(uuid.uuid4()))
    grant = await store.read_grant(connected.doc_source_id)
    assert grant is not None
    rejected, rounds = grant.tokens.access_token, 5
    with ExitStack() as stack:
        children = [child(stack, postgres_url, connected) for _ in range(2)]
        for one in children:
            assert await line(one) == "ready"
        await sandbox.control.forget_calls()
        for _ in range(rounds):
            await sandbox.control.expire_tokens(connected.address)
            for one in children:
                assert one.stdin is not None
                one.stdin.write(f"{rejected}\n")
                one.stdin.flush()
            first, second = [await line(one) for one in children]
            assert first == second != rejected
            rejected = first
    refreshes = [call for call in await sandbox.control.list_calls() if call["path"].endswith("/token")]
    assert [call["status"] for call in refreshes] == [200] * rounds


def child(stack: ExitStack, postgres_url: str, mailbox: Mailbox) -> subprocess.Popen[str]:
    keys = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    script = str(Path(__file__).with_name("refresh_child.py"))
    started = subprocess.Popen(
        [sys.executable, script, postgres_url, keys, orjson.dumps(asdict(mailbox)).decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.callback(started.wait)
    stack.callback(started.kill)
    return started


async def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def end_sessions(postgres_url: str) -> None:
    """What a frozen process meets: the server ends its session, and its locks with it."""
    conn = await asyncpg.connect(postgres_url)
    try:
        await conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    finally:
        await conn.close()


async def test_doc_source_without_a_grant_needs_consent(providers: Providers, outlook: Mailbox) -> None:
    stranger = replace(outlook, doc_source_id=str(uuid.uuid4()))
    with pytest.raises(TokenRefused):
        await providers.tokens.get_access_token(stranger)
