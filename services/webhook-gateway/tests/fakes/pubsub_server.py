"""A small Pub/Sub over real gRPC: streaming pull with deadlines, redelivery and ordering keys.

Source: Google Cloud, "Pull subscriptions" and "Order messages"; the API `google.pubsub.v1.Subscriber`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import grpc
import grpc.aio
from google.protobuf.empty_pb2 import Empty
from google.pubsub_v1.types import (
    AcknowledgeRequest,
    ModifyAckDeadlineRequest,
    PubsubMessage,
    ReceivedMessage,
    StreamingPullRequest,
    StreamingPullResponse,
)

_SERVICE = "google.pubsub.v1.Subscriber"


@dataclass(eq=False)
class _Delivery:
    message: PubsubMessage
    ack_id: str
    deadline_s: float


@dataclass
class PubSubServer:
    """What happened is in `acknowledged` and `deliveries` (message ids, in order) and `extensions` (of ack ids)."""

    port: int = 0
    acknowledged: list[str] = field(default_factory=list)
    deliveries: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    refusal: grpc.StatusCode | None = None  # of every pull
    _waiting: list[PubsubMessage] = field(default_factory=list)
    _leased: dict[str, _Delivery] = field(default_factory=dict)
    _message_numbers: "count[int]" = field(default_factory=lambda: count(1))
    _ack_numbers: "count[int]" = field(default_factory=lambda: count(1))
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def publish(self, data: bytes, ordering_key: str = "") -> str:
        async with self._changed:
            message_id = f"message-{next(self._message_numbers)}"
            self._waiting.append(PubsubMessage(data=data, message_id=message_id, ordering_key=ordering_key))
            self._changed.notify_all()
        return message_id

    async def publish_notification(self, address: str, history_id: int, ordering_key: str = "") -> str:
        data = json.dumps({"emailAddress": address, "historyId": history_id}).encode()
        return await self.publish(data, ordering_key)

    async def wait_until(self, is_reached: Callable[[], bool], within_s: float = 30.0) -> None:
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(is_reached)

    async def streaming_pull(
        self, requests: AsyncIterator[StreamingPullRequest], context: Any
    ) -> AsyncIterator[StreamingPullResponse]:
        if self.refusal is not None:
            async with self._changed:
                self.deliveries.append("refused")
                self._changed.notify_all()
            await context.abort(self.refusal, "the test says so")
        opening = await anext(aiter(requests))
        while True:
            yield StreamingPullResponse(received_messages=[await self._lease_next(opening.stream_ack_deadline_seconds)])

    async def acknowledge(self, request: AcknowledgeRequest, _context: Any) -> Empty:
        async with self._changed:
            for ack_id in request.ack_ids:
                if (delivery := self._leased.pop(ack_id, None)) is not None:
                    self.acknowledged.append(delivery.message.message_id)
            self._changed.notify_all()
        return Empty()

    async def modify_ack_deadline(self, request: ModifyAckDeadlineRequest, _context: Any) -> Empty:
        async with self._changed:
            for ack_id in request.ack_ids:
                if (delivery := self._leased.get(ack_id)) is None:
                    continue
                if request.ack_deadline_seconds:
                    delivery.deadline_s = asyncio.get_running_loop().time() + request.ack_deadline_seconds
                    self.extensions.append(ack_id)
                else:  # given back
                    self._waiting.insert(0, self._leased.pop(ack_id).message)
            self._changed.notify_all()
        return Empty()

    async def _lease_next(self, deadline_s: int) -> ReceivedMessage:
        loop = asyncio.get_running_loop()
        async with self._changed:
            while (message := self._take_next(loop.time())) is None:
                await self._wait_for_change_or_deadline(loop.time())
            delivery = _Delivery(message, f"ack-{next(self._ack_numbers)}", loop.time() + deadline_s)
            self._leased[delivery.ack_id] = delivery
            self.deliveries.append(message.message_id)
            self._changed.notify_all()
        return ReceivedMessage(ack_id=delivery.ack_id, message=message)

    def _take_next(self, now_s: float) -> PubsubMessage | None:
        for ack_id in [one.ack_id for one in self._leased.values() if one.deadline_s <= now_s]:
            self._waiting.insert(0, self._leased.pop(ack_id).message)
        busy_keys = {one.message.ordering_key for one in self._leased.values()} - {""}
        for message in self._waiting:
            if message.ordering_key not in busy_keys:
                self._waiting.remove(message)
                return message
        return None

    async def _wait_for_change_or_deadline(self, now_s: float) -> None:
        next_s = min((one.deadline_s - now_s for one in self._leased.values()), default=None)
        try:
            async with asyncio.timeout(next_s):
                await self._changed.wait()
        except TimeoutError:
            return


@asynccontextmanager
async def start_pubsub_server() -> AsyncIterator[PubSubServer]:
    pubsub = PubSubServer()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                _SERVICE,
                {
                    "StreamingPull": grpc.stream_stream_rpc_method_handler(
                        pubsub.streaming_pull, StreamingPullRequest.deserialize, StreamingPullResponse.serialize
                    ),
                    "Acknowledge": _unary(pubsub.acknowledge, AcknowledgeRequest),
                    "ModifyAckDeadline": _unary(pubsub.modify_ack_deadline, ModifyAckDeadlineRequest),
                },
            )
        ]
    )
    pubsub.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield pubsub
    finally:
        await server.stop(0)


def _unary(method: Callable[[Any, Any], Awaitable[Empty]], request_type: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(method, request_type.deserialize, Empty.SerializeToString)
