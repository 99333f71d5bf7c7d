"""Hears NOTIFY on a connection of its own, and wakes whoever waits."""

import asyncio
import contextlib
import random
from collections.abc import Iterable

import asyncpg
from pydantic import SecretStr

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import reveal_url, transient_errors
from mailroom_common.retries import wait_for_first

log = get_logger()

_PING_S = 10.0


class Wakeups:
    """One per process. What is missed while the connection is away is made good by waking everybody once it is back,
    and by the time-out that every wait has."""

    def __init__(self, url: SecretStr | str, channels: Iterable[str], *, application_name: str) -> None:
        self._url = url
        self._application_name = application_name
        self._calls = {channel: _Calls() for channel in channels}

    def count(self, channel: str) -> int:
        """How often the channel was heard. Take it before looking, and wait for more than it afterwards."""
        return self._calls[channel].count

    async def wait(self, channel: str, *, beyond: int, timeout_s: float) -> None:
        """Until the channel was heard more often than `beyond`, or the time is up."""
        calls = self._calls[channel]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), calls.heard:
                await calls.heard.wait_for(lambda: calls.count > beyond)

    async def wake(self, channel: str) -> None:
        await self._calls[channel].call()

    async def wake_all(self) -> None:
        for calls in self._calls.values():
            await calls.call()

    async def run(self, stopping: asyncio.Event) -> None:
        """Listen until `stopping`, through any absence of Postgres; then wake everybody a last time."""
        try:
            while not stopping.is_set():
                try:
                    with transient_errors():
                        await self._listen(stopping)
                except Unavailable as error:
                    log.warning("wakeups_away", reason=str(error))
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stopping.wait(), random.uniform(0.5, 1.5))  # noqa: S311  # jitter
        finally:
            await self.wake_all()

    async def _listen(self, stopping: asyncio.Event) -> None:
        conn = await asyncpg.connect(
            reveal_url(self._url),
            timeout=5,
            command_timeout=5,
            server_settings={"application_name": self._application_name},
        )
        try:
            for channel in self._calls:
                await conn.add_listener(channel, self._on_notify)
            lost = asyncio.Event()
            conn.add_termination_listener(lambda _connection: lost.set())
            await self.wake_all()
            while not stopping.is_set():
                await wait_for_first(stopping, lost, timeout_s=_PING_S)
                await conn.execute("select 1")
        finally:
            with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
                await conn.close(timeout=1)

    def _on_notify(self, _connection: object, _pid: int, channel: str, _payload: object) -> None:
        self._calls[channel].call_soon()


class _Calls:
    def __init__(self) -> None:
        self.count = 0
        self.heard = asyncio.Condition()
        self._waking: set[asyncio.Task[None]] = set()

    def call_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self.call())
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)

    async def call(self) -> None:
        async with self.heard:
            self.count += 1
            self.heard.notify_all()
