"""Hosts the coalescer in Faust, under the rules without which Faust loses records (`kafka.md` 1.3 has them measured).

Faust acknowledges a record whether or not its agent succeeded. So: one agent, concurrency 1, raw values that our own
code decodes, one try around the whole body whose except path awaits a dead letter, and an end of the process, with the
record still in hand, where even that fails. The table is in memory, rebuilt from its changelog topic.
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

from mailroom_common.errors import Fatal, Retryable, Unavailable, Undecodable, UnknownSchema
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import TRACEPARENT, decode_headers
from mailroom_common.kafka.record import RawRecord
from mailroom_common.logs import get_logger
from mailroom_common.topics import NOTIFICATIONS, PARTITIONS
from mailroom_common.tracing import bind_traceparent
from sync_engine.adapters.faust_app import ToldTable
from sync_engine.domain.coalescing import Window, Wish

log = get_logger()

_FLUSH_EVERY_S = 0.05
_CHANGELOG_TIMEOUT_S = 20.0
_START_ENDS_WITHIN_S = 4.0


class FaustWindows:
    """The Faust table as windows by doc source. Values are JSON; keys are the record keys, byte for byte."""

    def __init__(self, app: faust.App, notifications: str) -> None:
        self._app = app
        self._notifications = notifications
        # use_partitioner: the flush changes the table outside any event. Both partitioners are murmur2 on the key's
        # bytes, so a window lies in the partition of its notifications.
        self._table = cast(
            "ToldTable",
            app.Table("pending", key_type=bytes, value_type=bytes, partitions=PARTITIONS, use_partitioner=True),
        )

    def get(self, doc_source_id: str) -> Window | None:
        value = self._table.get(doc_source_id.encode())
        return None if value is None else _unpacked(value)

    async def put(self, doc_source_id: str, window: Window | None) -> None:
        key = doc_source_id.encode()
        if window is not None:
            self._table[key] = _packed(window)
        elif key in self._table:
            del self._table[key]
        else:
            return
        # Faust commits the notification whatever becomes of the changelog record: a kill would lose what was held
        # back. So nothing counts as remembered before Kafka has it.
        sent = self._table.sent
        await asyncio.wait({sent}, timeout=_CHANGELOG_TIMEOUT_S)
        if not sent.done() or sent.exception():
            raise Unavailable("Kafka did not take the coalescer's changelog record in time")

    def items(self) -> Iterable[tuple[str, Window]]:
        return [(key.decode(), _unpacked(value)) for key, value in self._table.items()]

    def owns(self, doc_source_id: str) -> bool:
        partition = (murmur2(doc_source_id.encode()) & 0x7FFFFFFF) % PARTITIONS
        return TP(self._notifications, partition) in self._app.assignor.assigned_actives()

    def on_recover(self, recovered: Callable[[], None]) -> None:
        async def on_recover() -> None:
            # Faust partitions at once and by what its producer knows, which is nothing of a topic it did not declare.
            # The driver's own producer is not part of Faust's interface.
            try:
                client = self._app.producer._ensure_producer()  # type: ignore[attr-defined]
                await client.partitions_for(self._table.changelog_topic.get_topic_name())
            except Exception as error:  # noqa: BLE001  # nobody awaits a callback: what is held back would stay so
                await self._app.crash(error)
                return
            recovered()

        self._table.on_recover(on_recover)


@dataclass(frozen=True, slots=True)
class FaustRecord:
    """A message of Faust as the record that it was; `timestamp` is epoch milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class FaustHost:
    """Feeds notifications to `heard`, and calls `flush` often. What cannot be helped ends the process: see `run`."""

    def __init__(
        self,
        app: faust.App,
        notifications: str,
        codec: Codec,
        *,
        heard: Callable[[str, str], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
        bury: Callable[[RawRecord, Exception], Awaitable[None]],
    ) -> None:
        self._app = app
        self._codec = codec
        self._heard = heard
        self._flush = flush
        self._bury = bury
        self._failed = asyncio.Event()
        self._failure: str | None = None
        self._is_running = False
        topic = app.topic(
            notifications, key_type=bytes, value_type=bytes, value_serializer="raw", partitions=PARTITIONS
        )
        app.agent(topic, concurrency=1, name="coalesce")(self._agent)
        app.timer(_FLUSH_EVERY_S, traced=False)(self._on_time)

    def ready(self) -> str | None:
        """A check for `Health.add`."""
        return None if self._is_running else "the coalescer has no partitions yet"

    async def run(self, stopping: asyncio.Event) -> None:
        """Run the app until `stopping`.

        Raises:
            Fatal: a record could be neither answered nor set aside. The app is left as it is, for stopping it would
                acknowledge the record in hand; the end of the process does not.
        """
        bind_to_running_loop(self._app)
        self._app.finalize()
        starting = asyncio.ensure_future(self._app.start())
        ends = {asyncio.ensure_future(end.wait()) for end in (stopping, self._failed, self._app._crashed)}
        try:
            await asyncio.wait({starting, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                self._is_running = True
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_running = False
            for end in ends:
                end.cancel()
        if self._failed.is_set() or self._app.crashed:
            raise Fatal(self._failure or f"Faust crashed: {self._app.crash_reason!r}")
        # An app cannot be stopped while it starts. With Kafka there it has soon started; without, it may never end, and
        # neither would a cancelled one: then the deadline of the stopping process ends it.
        await asyncio.wait({starting}, timeout=_START_ENDS_WITHIN_S)
        if starting.done():
            await self._app.stop()
        else:
            starting.cancel()

    async def _agent(self, stream: faust.StreamT[Any]) -> None:
        async for event in stream.events():
            await self._take(_record(event.message))

    async def _take(self, record: FaustRecord) -> None:
        try:
            with bind_traceparent(decode_headers(record.headers).get(TRACEPARENT)):
                await self._heard(_doc_source_id(record.key), self._tenant_id(record.value))
        except Retryable as error:
            await self._end(f"a notification could not be answered: {error}")
        except Exception as error:  # noqa: BLE001  # whatever it was, Faust would acknowledge the record
            await self._set_aside(record, error)

    async def _set_aside(self, record: FaustRecord, error: Exception) -> None:
        try:
            await self._bury(record, error)
        except Exception as worse:  # noqa: BLE001  # as above
            await self._end(f"a notification could not be set aside: {type(worse).__name__}")

    async def _end(self, why: str) -> None:
        """Hold the record in hand until the process is gone: returning would acknowledge it."""
        self._failure = why
        self._failed.set()
        await asyncio.Event().wait()

    async def _on_time(self) -> None:
        try:
            await self._flush()
        except Retryable as error:
            self._failure = f"a trailing request could not be sent: {error}"
            self._failed.set()

    def _tenant_id(self, value: bytes | None) -> str:
        try:
            return self._codec.decode(NOTIFICATIONS, value or b"").tenant_id
        except (Undecodable, UnknownSchema):
            return ""  # it wakes by its key alone: the worker knows the tenant from the directory


def _record(message: Any) -> FaustRecord:  # Any: faust.types.Message, whose fields are typed loosely
    at_ms = int((message.timestamp or 0) * 1000)
    headers = tuple(message.headers or ())
    return FaustRecord(message.topic, message.partition, message.offset, at_ms, message.key, message.value, headers)


def _doc_source_id(key: bytes | None) -> str:
    try:
        text = (key or b"").decode()
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise Undecodable("the key of a notification is no doc source id")
    return text


def _packed(window: Window) -> bytes:
    held = window.held_back
    return orjson.dumps(
        {
            "ends_at_ms": _ms(window.ends_at),
            "held_back": None if held is None else {"since_ms": _ms(held.since), "tenant_id": held.tenant_id},
        }
    )


def _unpacked(value: bytes) -> Window:
    said = orjson.loads(value)
    held = said["held_back"]
    return Window(_at(said["ends_at_ms"]), None if held is None else Wish(_at(held["since_ms"]), held["tenant_id"]))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
