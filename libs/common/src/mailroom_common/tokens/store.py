"""The token store: grants of doc sources in Postgres, sealed, with one refresher at a time for each."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import asyncpg
import orjson
from asyncpg.pool import PoolConnectionProxy
from pydantic import SecretStr

from mailroom_common.locks import SessionLock, hold_session_lock
from mailroom_common.postgres import acquire_session, open_transaction
from mailroom_common.tokens.sealing import CannotUnseal, SealingKeys

SCHEMA = "mailroom_tokens"

_COLUMNS = (
    "doc_source_id, provider, provider_user_id, sealed_tokens, grant_generation, scopes, token_issued_at, refused_at"
)


@dataclass(frozen=True, slots=True)
class StoredTokens:
    """`expires_at` is the access token's, by our clock. Application access has no refresh token."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class StoredGrant:
    doc_source_id: str
    provider: str
    provider_user_id: str
    tokens: StoredTokens
    grant_generation: int
    scopes: frozenset[str]
    token_issued_at: datetime
    refused_at: datetime | None


class LockedGrant:
    """One grant, locked: what is read here is what any refresh starts from, and what is written is the next's start."""

    def __init__(self, conn: PoolConnectionProxy, keys: SealingKeys, grant: StoredGrant) -> None:
        self._conn = conn
        self._keys = keys
        self.grant = grant

    async def replace_tokens(self, tokens: StoredTokens) -> None:
        """Store what a refresh gave. It counts once the block ends: use the access token only then."""
        await self._conn.execute(
            'update mailroom_tokens."grant" set sealed_tokens = $2, access_expires_at = $3, token_issued_at = now(), '
            "refused_at = null where doc_source_id = $1 and grant_generation = $4",
            self.grant.doc_source_id,
            _seal_tokens(self._keys, self.grant.doc_source_id, tokens),
            tokens.expires_at,
            self.grant.grant_generation,
        )

    async def mark_refused(self) -> None:
        """The provider refused this generation. The tokens stay: a policy may have been the cause."""
        await self._conn.execute(
            'update mailroom_tokens."grant" set refused_at = now() where doc_source_id = $1 and grant_generation = $2',
            self.grant.doc_source_id,
            self.grant.grant_generation,
        )


class TokenStore:
    """`url` is where the account lock opens its own session; it leads to the pool's database."""

    def __init__(self, pool: asyncpg.Pool, keys: SealingKeys, *, url: SecretStr | str) -> None:
        self._pool = pool
        self._keys = keys
        self._url = url

    async def put_grant(
        self, doc_source_id: str, provider: str, provider_user_id: str, tokens: StoredTokens, scopes: frozenset[str]
    ) -> int:
        """Store a new consent over whatever was there, and return its generation, greater than any before it here."""
        async with acquire_session(self._pool) as conn:
            grant_generation: int = await conn.fetchval(
                'insert into mailroom_tokens."grant" '
                "(doc_source_id, provider, provider_user_id, sealed_tokens, grant_generation, scopes, "
                "access_expires_at, token_issued_at) "
                "values ($1, $2, $3, $4, 1, $5, $6, now()) on conflict (doc_source_id) do update set "
                "provider = $2, provider_user_id = $3, sealed_tokens = $4, scopes = $5, access_expires_at = $6, "
                'token_issued_at = now(), refused_at = null, grant_generation = "grant".grant_generation + 1 '
                "returning grant_generation",
                doc_source_id,
                provider,
                provider_user_id,
                _seal_tokens(self._keys, doc_source_id, tokens),
                sorted(scopes),
                tokens.expires_at,
            )
        return grant_generation

    async def raise_generation(self, doc_source_id: str, *, above: int) -> int:
        """Have the stored grant be of a later generation than `above`, and return it; `above` where there is none.

        For a restored database, which has lost a newer grant: what was refused to that one is not refused to this.
        """
        async with acquire_session(self._pool) as conn:
            raised: int | None = await conn.fetchval(
                'update mailroom_tokens."grant" set grant_generation = greatest(grant_generation, $2::bigint + 1) '
                "where doc_source_id = $1 returning grant_generation",
                doc_source_id,
                above,
            )
        return above if raised is None else raised

    async def read_grant(self, doc_source_id: str) -> StoredGrant | None:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(
                f'select {_COLUMNS} from mailroom_tokens."grant" '  # noqa: S608
                "where doc_source_id = $1 and sealed_tokens is not null",
                doc_source_id,
            )
        return None if row is None else _read_row(self._keys, row)

    async def count_grants_by_key(self, *, limit: int) -> tuple[int, int]:
        """Of at most `limit` grants, how many the present keys open and how many they do not. The longest unused come
        first: those are the ones that a lost key is missed for."""
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                'select doc_source_id, sealed_tokens from mailroom_tokens."grant" '
                "where sealed_tokens is not null order by token_issued_at limit $1",
                limit,
            )
        opened = sum(_is_opened(self._keys, row) for row in rows)
        return opened, len(rows) - opened

    async def forget_grant(self, doc_source_id: str) -> None:
        """Remove the secrets. The row and its generation stay: a later consent must not begin again at 1."""
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                'update mailroom_tokens."grant" set sealed_tokens = null, '
                "provider_user_id = '' where doc_source_id = $1",
                doc_source_id,
            )

    @asynccontextmanager
    async def hold_account_lock(self, provider: str, account_key: str) -> AsyncIterator[SessionLock]:
        """Connecting an account and ending its last connection exclude each other, over all tenants and instances."""
        async with hold_session_lock(
            self._url, "account", provider, account_key, application_name="account-lock"
        ) as lock:
            yield lock

    @asynccontextmanager
    async def lock_for_refresh(self, doc_source_id: str) -> AsyncIterator[LockedGrant | None]:
        """The row's lock for one refresh; None when there is no grant. Who waited finds what the first one stored."""
        async with open_transaction(self._pool) as conn:
            row = await conn.fetchrow(
                f'select {_COLUMNS} from mailroom_tokens."grant" '  # noqa: S608
                "where doc_source_id = $1 and sealed_tokens is not null for update",
                doc_source_id,
            )
            yield None if row is None else LockedGrant(conn, self._keys, _read_row(self._keys, row))


def _build_purpose(doc_source_id: str) -> str:
    return f"mailroom_tokens.grant:{doc_source_id}"


def _is_opened(keys: SealingKeys, row: Any) -> bool:  # Any: asyncpg's Record
    try:
        keys.unseal_secret(row["sealed_tokens"], bound_to=_build_purpose(str(row["doc_source_id"])))
    except CannotUnseal:
        return False
    return True


def _seal_tokens(keys: SealingKeys, doc_source_id: str, tokens: StoredTokens) -> str:
    secret = orjson.dumps(
        {"access": tokens.access_token, "refresh": tokens.refresh_token, "expires_at": tokens.expires_at.timestamp()}
    )
    return keys.seal_secret(secret, bound_to=_build_purpose(doc_source_id))


def _read_row(keys: SealingKeys, row: Any) -> StoredGrant:  # Any: asyncpg's Record
    doc_source_id = str(row["doc_source_id"])
    secret = orjson.loads(keys.unseal_secret(row["sealed_tokens"], bound_to=_build_purpose(doc_source_id)))
    return StoredGrant(
        doc_source_id=doc_source_id,
        provider=row["provider"],
        provider_user_id=row["provider_user_id"],
        tokens=StoredTokens(secret["access"], secret["refresh"], datetime.fromtimestamp(secret["expires_at"], UTC)),
        grant_generation=row["grant_generation"],
        scopes=frozenset(row["scopes"]),
        token_issued_at=row["token_issued_at"],
        refused_at=row["refused_at"],
    )
