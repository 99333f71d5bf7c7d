"""Hosts the coalescer in Faust, under the rules without which Faust loses records (`kafka.md` 1.3 has them measured).

Faust acknowledges a record whether or not its agent succeeded. So: one agent, concurrency 1, raw values that our own
code decodes, one try around the whole body whose except path awaits a dead letter, and an end of the process, before
the record is acknowledged, where even that fails. The table is in memory, rebuilt from its changelog topic.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import faust
import orjson
from aiokafka.partitioner import murmur2
from faust.contrib.asgi import bind_to_running_loop
from faust.types import TP

from mailroom_common.errors import Fatal, NotDecodableYet, Retryable, Unavailable, Undecodable
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import TRACEPARENT, decode_headers
from mailroom_common.kafka.record import RawRecord
from mailroom_common.logs import get_logger
from mailroom_common.topics import NOTIFICATIONS, PARTITIONS
from mailroom_common.tracing import bind_traceparent
from sync_engine.adapters.faust_app import AcknowledgedTable
from sync_engine.domain.coalescing import CoalescingWindow, PendingRequest

log = get_logger()

_CHANGELOG_TIMEOUT_S = 20.0
_START_TIMEOUT_S = 4.0


class FaustWindows:
    """`CoalescingWindows` of ports.py: a Faust table by doc source. Values are JSON; keys are the record keys."""

    def __init__(self, app: faust.App, notifications: str) -> None:
        self._app = app
        self._notifications = notifications
        # use_partitioner: windows end outside any Faust event. Both partitioners are murmur2 on the key's
        # bytes, so a window lies in the partition of its notifications.
        self._table = cast(
            "AcknowledgedTable",
            app.Table("pending", key_type=bytes, value_type=bytes, partitions=PARTITIONS, use_partitioner=True),
        )

    def find_open_window(self, doc_source_id: str) -> CoalescingWindow | None:
        value = self._table.get(doc_source_id.encode())
        return None if value is None else _decode_window(value)

    async def store_window(self, doc_source_id: str, window: CoalescingWindow | None) -> None:
        key = doc_source_id.encode()
        if window is not None:
            self._table[key] = _encode_window(window)
        elif key in self._table:
            del self._table[key]
        else:
            return
        # Faust commits the notification whatever becomes of the changelog record: a kill would lose what was held
        # back. So nothing counts as stored before Kafka has it.
        # Taken right after the change, without an await in between: another window's change would take its place.
        latest_send = self._table.latest_send
        await asyncio.wait({latest_send}, timeout=_CHANGELOG_TIMEOUT_S)
        if not latest_send.done() or latest_send.exception():
            raise Unavailable("Kafka did not take the coalescer's changelog record in time")

    def list_windows(self) -> Iterable[tuple[str, CoalescingWindow]]:
        return [(key.decode(), _decode_window(value)) for key, value in self._table.items()]

    def owns_source(self, doc_source_id: str) -> bool:
        partition = (murmur2(doc_source_id.encode()) & 0x7FFFFFFF) % PARTITIONS
        return TP(self._notifications, partition) in self._app.assignor.assigned_actives()

    def on_recover(self, on_recovery: Callable[[], None]) -> None:
        async def prepare_producer() -> None:
            # Faust partitions at once and by what its producer knows, which is nothing of a topic it did not declare.
            # The driver's own producer is not part of Faust's interface.
            try:
                client = self._app.producer._ensure_producer()  # type: ignore[attr-defined]
                await client.partitions_for(self._table.changelog_topic.get_topic_name())
                on_recovery()  # reads the windows: a changelog value that is none ends the process too
            except Exception as error:  # noqa: BLE001  # no one awaits a callback: windows that are held back would never end
                await self._app.crash(error)

        self._table.on_recover(prepare_producer)


@dataclass(frozen=True, slots=True)
class FaustRecord:
    """A Faust message as the Kafka record that it came from; `timestamp` is epoch milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class FaustHost:
    """Feeds notifications to the handler, and has windows closed when they are due. See `run_app` for what ends it."""

    def __init__(
        self,
        app: faust.App,
        notifications: str,
        codec: Codec,
        *,
        handle_notification: Callable[[str, str], Awaitable[None]],
        wait_until_due: Callable[[], Awaitable[None]],
        close_due_windows: Callable[[], Awaitable[None]],
        write_dead_letter: Callable[[RawRecord, Exception], Awaitable[None]],
    ) -> None:
        self._app = app
        self._codec = codec
        self._handle_notification = handle_notification
        self._wait_until_due = wait_until_due
        self._close_due_windows = close_due_windows
        self._write_dead_letter = write_dead_letter
        self._failed = asyncio.Event()
        self._failure: str | None = None
        self._is_running = False
        topic = app.topic(
            notifications, key_type=bytes, value_type=bytes, value_serializer="raw", partitions=PARTITIONS
        )
        app.agent(topic, concurrency=1, name="coalesce")(self._consume_stream)

    def check_readiness(self) -> str | None:
        """A check for `Health.add`."""
        return None if self._is_running else "the coalescer has no partitions yet"

    async def run_app(self, stopping: asyncio.Event) -> None:
        """Run the app until `stopping`.

        Raises:
            Fatal: a notification could be neither handled nor dead-lettered. The app is left as it is, for stopping it
                would acknowledge the record; the end of the process does not.
        """
        bind_to_running_loop(self._app)
        self._app.finalize()
        starting = asyncio.ensure_future(self._app.start())
        closing = asyncio.ensure_future(self._close_windows_repeatedly())
        ends = {asyncio.ensure_future(end.wait()) for end in (stopping, self._failed, self._app._crashed)}
        try:
            await asyncio.wait({starting, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                self._is_running = True
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_running = False
            for waiting in (*ends, closing):
                waiting.cancel()
        if self._failed.is_set() or self._app.crashed:
            raise Fatal(self._failure or f"Faust crashed: {self._app.crash_reason!r}")
        # An app cannot be stopped while it starts. With Kafka there it has soon started; without, it may never end, and
        # neither would a cancelled one: then the deadline of the stopping process ends it.
        await asyncio.wait({starting}, timeout=_START_TIMEOUT_S)
        if starting.done():
            await self._app.stop()
        else:
            starting.cancel()

    async def _consume_stream(self, stream: faust.StreamT[Any]) -> None:
        async for event in stream.events():
            await self._handle_record(_to_record(event.message))

    async def _handle_record(self, record: FaustRecord) -> None:
        try:
            with bind_traceparent(decode_headers(record.headers).get(TRACEPARENT)):
                doc_source_id = _decode_key(record.key)
                try:
                    tenant_id = self._read_tenant_id(record.value)
                except Undecodable:
                    # Its key is enough to ask for a sync; the record is set aside all the same, for whoever wrote it.
                    await self._handle_notification(doc_source_id, "")
                    raise
                await self._handle_notification(doc_source_id, tenant_id)
        except Retryable as error:
            await self._end_process(f"a notification could not be handled: {error}")
        except Exception as error:  # noqa: BLE001  # whatever it was, Faust would acknowledge the record
            await self._dead_letter(record, error)

    async def _dead_letter(self, record: FaustRecord, error: Exception) -> None:
        try:
            await self._write_dead_letter(record, error)
        except Exception as failure:  # noqa: BLE001  # as above
            await self._end_process(f"a notification could not be dead-lettered: {type(failure).__name__}")

    async def _end_process(self, reason: str) -> None:
        """Never returns: the agent would acknowledge the record."""
        self._failure = reason
        self._failed.set()
        await asyncio.Event().wait()

    async def _close_windows_repeatedly(self) -> None:
        try:
            while True:
                await self._wait_until_due()
                await self._close_due_windows()
        except Retryable as error:
            self._failure = f"a trailing request could not be sent: {error}"
            self._failed.set()
        except Exception as error:  # nobody awaits this task: without an end of the process no window would end again
            # A bug of ours: the held-back request is not lost, since the process ends and its successor recovers the
            # window.
            log.exception("window_close_crashed")
            self._failure = f"windows could not be closed: {type(error).__name__}"
            self._failed.set()

    def _read_tenant_id(self, value: bytes | None) -> str:
        try:
            return self._codec.decode(NOTIFICATIONS, value or b"").tenant_id
        except NotDecodableYet:
            return ""  # a newer gateway's; the worker knows the tenant from the directory


def _to_record(message: Any) -> FaustRecord:  # Any: faust.types.Message, whose fields are typed loosely
    at_ms = int((message.timestamp or 0) * 1000)
    headers = tuple(message.headers or ())
    return FaustRecord(message.topic, message.partition, message.offset, at_ms, message.key, message.value, headers)


def _decode_key(key: bytes | None) -> str:
    try:
        text = (key or b"").decode()
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise Undecodable("the key of a notification is no doc source id")
    return text


def _encode_window(window: CoalescingWindow) -> bytes:
    held_back = window.held_back
    return orjson.dumps(
        {
            "ends_at_ms": _to_ms(window.ends_at),
            "held_back": None
            if held_back is None
            else {"requested_at_ms": _to_ms(held_back.requested_at), "tenant_id": held_back.tenant_id},
        }
    )


def _decode_window(value: bytes) -> CoalescingWindow:
    fields = orjson.loads(value)
    held_back = fields["held_back"]
    pending = held_back and PendingRequest(_from_ms(held_back["requested_at_ms"]), held_back["tenant_id"])
    return CoalescingWindow(_from_ms(fields["ends_at_ms"]), pending)


def _to_ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _from_ms(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
