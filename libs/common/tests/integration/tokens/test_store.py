import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from mailroom_common.migrations import apply_migrations
from mailroom_common.postgres import open_pool
from mailroom_common.tokens.sealing import CannotUnseal, SealingKeys
from mailroom_common.tokens.store import StoredTokens, TokenStore

pytestmark = pytest.mark.stack

OLD = "old:" + b64encode(bytes(range(32))).decode()
NEW = "new:" + b64encode(bytes(range(32, 64))).decode()
TOKENS = StoredTokens("access-canary", "refresh-canary", datetime(2026, 11, 28, 12, tzinfo=UTC))
SCOPES = frozenset({"Mail.Read", "User.Read"})


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await apply_migrations(postgres_url, {"mailroom_tokens"})
    async with open_pool(postgres_url, application_name="test", max_size=6) as pool:
        yield pool


@pytest.fixture
def store(pool: asyncpg.Pool, postgres_url: str) -> TokenStore:
    return TokenStore(pool, SealingKeys.parse_keys(OLD), url=postgres_url)


async def test_stored_grant_reads_back_as_it_was(store: TokenStore) -> None:
    one = str(uuid4())
    assert await store.put_grant(one, "outlook", "user", TOKENS, SCOPES) == 1
    grant = await store.read_grant(one)
    assert grant is not None
    assert (grant.tokens, grant.scopes, grant.provider_user_id, grant.refused_at) == (TOKENS, SCOPES, "user", None)
    assert grant.tokens.access_token == "access-canary"


async def test_no_column_holds_a_token_in_plain(store: TokenStore, pool: asyncpg.Pool) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    row = await pool.fetchrow('select * from mailroom_tokens."grant" where doc_source_id = $1', one)
    assert row is not None
    assert "canary" not in str(tuple(row))
    assert "canary" not in repr(await store.read_grant(one))


async def test_a_new_consent_replaces_everything_of_the_old_one(store: TokenStore, pool: asyncpg.Pool) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    later = StoredTokens("access-2", "refresh-2", TOKENS.expires_at + timedelta(hours=3))
    await store.put_grant(one, "gmail", "another-user", later, frozenset({"gmail.readonly"}))
    grant = await store.read_grant(one)
    assert grant is not None
    assert (grant.provider, grant.provider_user_id, grant.scopes) == (
        "gmail",
        "another-user",
        frozenset({"gmail.readonly"}),
    )
    assert (grant.tokens, grant.grant_generation) == (later, 2)
    column = 'select access_expires_at from mailroom_tokens."grant" where doc_source_id = $1'
    assert await pool.fetchval(column, one) == later.expires_at


async def test_what_happens_to_one_grant_leaves_the_others_alone(store: TokenStore) -> None:
    one, other = str(uuid4()), str(uuid4())
    for doc_source_id in (one, other):
        await store.put_grant(doc_source_id, "outlook", "user", TOKENS, SCOPES)
    before = await store.read_grant(other)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        await locked.replace_tokens(replace(TOKENS, access_token="next"))
        await locked.mark_refused()
    await store.forget_grant(one)
    assert await store.read_grant(other) == before


async def test_what_a_refresh_of_an_older_generation_gives_changes_nothing(store: TokenStore) -> None:
    """The row's lock excludes it, unless the lock's session ended unnoticed."""
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        locked.grant = replace(locked.grant, grant_generation=1)
        await locked.replace_tokens(replace(TOKENS, access_token="late"))
        await locked.mark_refused()
    grant = await store.read_grant(one)
    assert grant is not None
    assert (grant.tokens, grant.refused_at, grant.grant_generation) == (TOKENS, None, 2)


async def test_a_refresh_that_succeeds_ends_the_refusal_and_says_when(store: TokenStore, pool: asyncpg.Pool) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        await locked.mark_refused()
    refused = await store.read_grant(one)
    later = TOKENS.expires_at + timedelta(hours=1)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        await locked.replace_tokens(replace(TOKENS, expires_at=later))
    grant = await store.read_grant(one)
    assert refused is not None
    assert grant is not None
    assert (grant.refused_at, grant.tokens.expires_at) == (None, later)
    assert grant.token_issued_at > refused.token_issued_at
    column = 'select access_expires_at from mailroom_tokens."grant" where doc_source_id = $1'
    assert await pool.fetchval(column, one) == later


async def test_a_forgotten_grant_is_none_for_a_refresh_too(store: TokenStore) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    await store.forget_grant(one)
    async with store.lock_for_refresh(one) as locked:
        assert locked is None


async def test_each_consent_raises_the_generation_also_after_a_forgetting(store: TokenStore) -> None:
    one = str(uuid4())
    assert await store.put_grant(one, "outlook", "user", TOKENS, SCOPES) == 1
    assert await store.put_grant(one, "outlook", "user", TOKENS, SCOPES) == 2
    await store.forget_grant(one)
    assert await store.read_grant(one) is None
    assert await store.put_grant(one, "outlook", "user", TOKENS, SCOPES) == 3


async def test_generation_exceeds_one_that_was_published_of_a_grant_that_is_lost(store: TokenStore) -> None:
    one, other = str(uuid4()), str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    assert await store.raise_generation(one, above=8) == 9
    assert await store.raise_generation(one, above=8) == 9, "a repeat changes nothing"
    grant = await store.read_grant(one)
    assert grant is not None
    assert (grant.grant_generation, grant.tokens) == (9, TOKENS)
    assert await store.raise_generation(other, above=3) == 3, "there is none"


async def test_forgetting_leaves_no_secret_and_no_account(store: TokenStore, pool: asyncpg.Pool) -> None:
    one = str(uuid4())
    await store.put_grant(one, "gmail", "forgotten-user", TOKENS, SCOPES)
    await store.forget_grant(one)
    row = await pool.fetchrow(
        'select sealed_tokens, provider_user_id from mailroom_tokens."grant" where doc_source_id = $1', one
    )
    assert tuple(row or ()) == (None, "")


async def test_sealed_row_that_is_copied_to_another_doc_source_does_not_open(
    store: TokenStore, pool: asyncpg.Pool
) -> None:
    victim, thief = str(uuid4()), str(uuid4())
    for one in (victim, thief):
        await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    await pool.execute(
        'update mailroom_tokens."grant" set sealed_tokens = '
        '(select sealed_tokens from mailroom_tokens."grant" where doc_source_id = $1) where doc_source_id = $2',
        victim,
        thief,
    )
    with pytest.raises(CannotUnseal):
        await store.read_grant(thief)


async def test_rotated_key_opens_what_the_old_one_sealed_and_seals_the_next(
    store: TokenStore, pool: asyncpg.Pool, postgres_url: str
) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    rotated = TokenStore(pool, SealingKeys.parse_keys(f"{NEW},{OLD}"), url=postgres_url)
    async with rotated.lock_for_refresh(one) as locked:
        assert locked is not None
        assert locked.grant.tokens == TOKENS
        await locked.replace_tokens(replace(TOKENS, access_token="next"))
    sealed = await pool.fetchval('select sealed_tokens from mailroom_tokens."grant" where doc_source_id = $1', one)
    assert sealed.startswith("new:")


async def test_second_refresher_waits_and_finds_what_the_first_one_stored(store: TokenStore) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    seen: list[str] = []

    async def refresh(name: str) -> None:
        async with store.lock_for_refresh(one) as locked:
            assert locked is not None
            seen.append(locked.grant.tokens.access_token)
            await asyncio.sleep(0.05)
            await locked.replace_tokens(replace(TOKENS, access_token=name))

    await asyncio.gather(refresh("first"), refresh("second"))
    assert seen[0] == "access-canary"
    assert seen[1] in ("first", "second")


async def test_refresh_that_fails_leaves_what_was_there(store: TokenStore) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)

    async def fail() -> None:
        async with store.lock_for_refresh(one) as locked:
            assert locked is not None
            await locked.replace_tokens(replace(TOKENS, access_token="never"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    grant = await store.read_grant(one)
    assert grant is not None
    assert grant.tokens == TOKENS


async def test_refusal_marks_its_generation_and_a_new_consent_ends_it(store: TokenStore) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        await locked.mark_refused()
    refused = await store.read_grant(one)
    assert refused is not None
    assert refused.refused_at is not None
    assert refused.tokens == TOKENS  # kept: a policy may have been the cause
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    fresh = await store.read_grant(one)
    assert fresh is not None
    assert fresh.refused_at is None


async def test_consent_waits_for_a_refresh_under_way_and_is_not_overwritten_by_it(store: TokenStore) -> None:
    one = str(uuid4())
    await store.put_grant(one, "outlook", "user", TOKENS, SCOPES)
    async with store.lock_for_refresh(one) as locked:
        assert locked is not None
        consent = asyncio.create_task(
            store.put_grant(one, "outlook", "user", replace(TOKENS, access_token="consented"), SCOPES)
        )
        await asyncio.sleep(0.1)
        assert not consent.done()
        await locked.replace_tokens(
            replace(TOKENS, access_token="late", expires_at=TOKENS.expires_at + timedelta(hours=1))
        )
    assert await consent == 2
    grant = await store.read_grant(one)
    assert grant is not None
    assert grant.tokens.access_token == "consented"


async def test_nothing_to_refresh_is_none(store: TokenStore) -> None:
    async with store.lock_for_refresh(str(uuid4())) as locked:
        assert locked is None


async def test_account_lock_is_one_for_all_tenants_and_one_per_provider(store: TokenStore) -> None:
    order: list[str] = []

    async def hold(provider: str, name: str) -> None:
        async with store.hold_account_lock(provider, "ada"):
            order.append(f"{name} in")
            await asyncio.sleep(0.2)
            order.append(f"{name} out")

    await asyncio.gather(hold("gmail", "a"), hold("gmail", "b"))
    assert [step.split()[1] for step in order] == ["in", "out", "in", "out"]
    async with store.hold_account_lock("gmail", "ada"), store.hold_account_lock("outlook", "ada"):
        pass
