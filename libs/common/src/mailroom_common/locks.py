"""Postgres advisory locks, each on a session of its own (never a pool's), so that a frozen holder loses its lock.

Postgres ends the session after `idle_session_timeout`, so the lock of a process that hangs, is stopped, or sits behind
a dead network is free again within seconds. A holder keeps its session alive by statements; see `SessionLock`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256

import asyncpg
from pydantic import SecretStr

from mailroom_common.errors import Unavailable
from mailroom_common.postgres import reveal_url, transient_errors

LEASE_S = 10.0
_CLOSE_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)


def advisory_lock_key(*parts: str) -> int:
    """The 64-bit key of a named advisory lock."""
    return int.from_bytes(sha256("\x1f".join(("mailroom", *parts)).encode()).digest()[:8], "big", signed=True)


@asynccontextmanager
async def open_leased_session(
    url: SecretStr | str, *, application_name: str, lease_s: float = LEASE_S
) -> AsyncIterator[asyncpg.Connection]:
    """A session outside any pool, which Postgres ends when it sends no statement for `lease_s` seconds."""
    with transient_errors():
        conn = await asyncpg.connect(
            reveal_url(url),
            timeout=5,
            command_timeout=lease_s / 2,
            server_settings={
                "application_name": application_name,
                "timezone": "UTC",
                "idle_session_timeout": f"{round(lease_s * 1000)}ms",
            },
        )
    try:
        yield conn
    finally:
        with suppress(*_CLOSE_ERRORS):
            await conn.close(timeout=1)


class SessionLock:
    """A lock that was acquired. Call `require_held` before each step that only the holder may take."""

    def __init__(self, name: str, lease_s: float) -> None:
        self._name = name
        self._lease_s = lease_s
        self._active_at = _now()

    def record_activity(self) -> None:
        self._active_at = _now()

    def require_held(self) -> None:
        """Raises Unavailable when the session has been silent for so long that another may hold the lock by now."""
        if _now() - self._active_at > self._lease_s * 0.8:
            raise Unavailable(f"the lock {self._name} may be lost")


@asynccontextmanager
async def hold_session_lock(
    url: SecretStr | str, *parts: str, application_name: str, wait_s: float = 30, lease_s: float = LEASE_S
) -> AsyncIterator[SessionLock]:
    """Hold the lock named by `parts` for the block.

    Raises:
        Unavailable: it could not be acquired within `wait_s`, or Postgres is away.
    """
    key = advisory_lock_key(*parts)
    async with open_leased_session(url, application_name=application_name, lease_s=lease_s) as conn:
        with transient_errors():
            await conn.execute(f"set lock_timeout = '{round(wait_s * 1000)}ms'")
            await conn.execute("select pg_advisory_lock($1)", key, timeout=wait_s + 5)
        held = SessionLock(":".join(parts), lease_s)
        pinging = asyncio.create_task(_keep_alive(conn, held, lease_s / 5))
        try:
            yield held
        finally:
            pinging.cancel()
            with suppress(asyncio.CancelledError):
                await pinging


async def _keep_alive(conn: asyncpg.Connection, held: SessionLock, every_s: float) -> None:
    # When it fails, the holder notices it by `require_held`: nothing here could restore the lock.
    with suppress(*_CLOSE_ERRORS):
        while True:
            await asyncio.sleep(every_s)
            await conn.execute("select 1")
            held.record_activity()


def _now() -> float:
    return asyncio.get_running_loop().time()
