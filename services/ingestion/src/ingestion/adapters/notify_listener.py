"""Postgres LISTEN on a connection of its own: counts the signals of each channel and wakes who waits for one."""

import asyncio
import contextlib
from collections.abc import Iterable

import asyncpg
from pydantic import SecretStr

from ingestion.ports.events import Channel
from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.postgres import reveal_url, transient_errors
from mailroom_common.retries import backoff_s, wait_for_event, wait_for_first

log = get_logger()

_PING_INTERVAL_S = 10.0
_RECONNECT_PAUSE_S = 1.0


class NotifyListener:
    """One per process. What is missed while the connection is away is made good by signalling every channel once it is
    back, and by the time-out that every wait has."""

    def __init__(self, url: SecretStr | str, channels: Iterable[Channel], *, application_name: str) -> None:
        self._url = url
        self._application_name = application_name
        self._counters = {channel.value: _SignalCounter() for channel in channels}

    def count_signals(self, channel: Channel) -> int:
        return self._counters[channel.value].count

    async def wait_for_signal(self, channel: Channel, *, beyond: int, timeout_s: float) -> None:
        counter = self._counters[channel.value]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), counter.changed:
                await counter.changed.wait_for(lambda: counter.count > beyond)

    async def signal_channel(self, channel: Channel) -> None:
        await self._counters[channel.value].add_signal()

    async def signal_all_channels(self) -> None:
        for counter in self._counters.values():
            await counter.add_signal()

    async def run_listener(self, stopping: asyncio.Event) -> None:
        """Listen until `stopping`, through any absence of Postgres; then signal every channel a last time."""
        try:
            while not stopping.is_set():
                try:
                    with transient_errors():
                        await self._listen_until_lost(stopping)
                except Unavailable as error:
                    # Without LISTEN work is found by polling, so it starts up to some seconds later.
                    log.warning("listener_disconnected", reason=str(error))
                    await wait_for_event(stopping, backoff_s(1, initial_s=_RECONNECT_PAUSE_S, max_s=_RECONNECT_PAUSE_S))
        finally:
            await self.signal_all_channels()

    async def _listen_until_lost(self, stopping: asyncio.Event) -> None:
        conn = await asyncpg.connect(
            reveal_url(self._url),
            timeout=5,
            command_timeout=5,
            server_settings={"application_name": self._application_name},
        )
        try:
            for channel in self._counters:
                await conn.add_listener(channel, self._on_notify)
            lost = asyncio.Event()
            conn.add_termination_listener(lambda _connection: lost.set())
            # After LISTEN is in force: what was notified before it, nobody heard.
            await self.signal_all_channels()
            while not stopping.is_set():
                await wait_for_first(stopping, lost, timeout_s=_PING_INTERVAL_S)
                # A connection whose server vanished without a word notifies nobody: only a call finds out.
                await conn.execute("select 1")
        finally:
            with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
                await conn.close(timeout=1)

    def _on_notify(self, _connection: object, _pid: int, channel: str, _payload: object) -> None:
        self._counters[channel].add_signal_soon()


class _SignalCounter:
    def __init__(self) -> None:
        self.count = 0
        self.changed = asyncio.Condition()
        self._adding: set[asyncio.Task[None]] = set()

    def add_signal_soon(self) -> None:
        # Kept until it is done: the loop holds tasks by weak references only.
        task = asyncio.get_running_loop().create_task(self.add_signal())
        self._adding.add(task)
        task.add_done_callback(self._adding.discard)

    async def add_signal(self) -> None:
        async with self.changed:
            self.count += 1
            self.changed.notify_all()
