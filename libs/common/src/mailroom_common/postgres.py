"""Postgres: one way to open a pool, and sessions and transactions whose transient errors are `Unavailable`."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import orjson
from asyncpg.pool import PoolConnectionProxy
from pydantic import SecretStr

from mailroom_common.errors import Unavailable

# What a later attempt may not meet: the server went away, is starting or stopping, became a standby, changes its
# passwords, or two transactions conflicted.
_TRANSIENT = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what asyncpg says of a session that the server ended while it was idle
    asyncpg.exceptions.OperatorInterventionError,
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.TransactionRollbackError,
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.ReadOnlySQLTransactionError,
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    # A migration gave a table another column while this session had a statement that reads all of them.
    asyncpg.exceptions.InvalidCachedStatementError,
    OSError,
    TimeoutError,
)

# Of failures that only a person can end; the first that fits is told. All are waited for like the others, since
# passwords and certificates are also replaced while a process runs.
_ADVICE: dict[type[BaseException], str] = {
    ssl.SSLCertVerificationError: (
        "its certificate is not accepted: MAILROOM_CA_BUNDLE (caBundle in the chart) has to hold its authority, and "
        "it has to name the host of the database URL"
    ),
    asyncpg.exceptions.InvalidAuthorizationSpecificationError: (
        "it refuses the role of the database URL: the role does not exist, may not log in, or has another password"
    ),
}

INVALID_VALUE_ERRORS: tuple[type[Exception], ...] = (asyncpg.DataError,)
"""Raised for a value of a request that no column can hold: the caller's mistake, not the database's."""

DatabaseSession = PoolConnectionProxy
"""What handlers are given; a plain `asyncpg.Connection` serves as well."""


@asynccontextmanager
async def open_pool(
    url: SecretStr | str, *, application_name: str, max_size: int = 10, command_timeout_s: float = 30
) -> AsyncIterator[asyncpg.Pool]:
    """A pool whose sessions speak UTC, read `jsonb` as Python values and end forgotten transactions.

    Raises:
        Unavailable: Postgres does not answer.
    """
    with transient_errors():
        pool = await asyncpg.create_pool(
            reveal_url(url),
            min_size=1,
            max_size=max_size,
            timeout=10,
            command_timeout=command_timeout_s,
            init=register_jsonb_codec,
            reset=_keep_session,
            server_settings={
                "application_name": application_name,
                "timezone": "UTC",
                "idle_in_transaction_session_timeout": "60s",
            },
        )
    try:
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def acquire_session(pool: asyncpg.Pool) -> AsyncIterator[PoolConnectionProxy]:
    """A session of the pool, each statement its own transaction.

    Raises:
        Unavailable: for transient errors, so that a consumer waits and nothing is dead-lettered for it.
    """
    with transient_errors():
        async with pool.acquire(timeout=10) as conn:
            try:
                yield conn
            except asyncpg.exceptions.ReadOnlySQLTransactionError:
                # The server was demoted under its sessions: new ones have to be opened where the primary is now.
                await pool.expire_connections()
                raise


@asynccontextmanager
async def open_transaction(pool: asyncpg.Pool) -> AsyncIterator[PoolConnectionProxy]:
    """One transaction: committed at the end of the block, rolled back by an error. Raises as `acquire_session` does."""
    async with acquire_session(pool) as conn, conn.transaction():
        yield conn


class transient_errors:  # noqa: N801  # a context manager, named as its `with` statement reads
    """Turns transient errors of Postgres into Unavailable and leaves the others alone."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, _TRANSIENT):
            # By its kind only: the server's detail quotes values of rows.
            raise Unavailable(f"Postgres: {type(error).__name__}{_find_advice(error)}") from error


def _find_advice(error: BaseException) -> str:
    return next((f": {advice}" for kind, advice in _ADVICE.items() if isinstance(error, kind)), "")


async def _keep_session(_conn: asyncpg.Connection) -> None:
    """Instead of asyncpg's reset, a statement after each use of a session: half of an idle site's.

    A session of a pool has no state of its own to be reset (locks and LISTEN have sessions of theirs), and asyncpg has
    ended its transaction.
    """


async def register_jsonb_codec(conn: asyncpg.Connection) -> None:
    """Have `jsonb` columns read and written as Python values."""
    await conn.set_type_codec(
        "jsonb", encoder=lambda value: orjson.dumps(value).decode(), decoder=orjson.loads, schema="pg_catalog"
    )


def reveal_url(url: SecretStr | str) -> str:
    return url.get_secret_value() if isinstance(url, SecretStr) else url
