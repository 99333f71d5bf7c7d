"""Google's client against a small Pub/Sub over real gRPC."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import pytest
from gateway_fakes import SUBSCRIPTION
from google.auth.exceptions import DefaultCredentialsError
from pubsub_server import PubSubServer, start_pubsub_server

from mailroom_common.errors import SettingsError
from mailroom_common.settings import TLSSettings
from webhook_gateway.adapters.pubsub_subscriber import PubSubSubscriber, ReceiveMessage, open_subscriber


@pytest.fixture
async def pubsub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PubSubServer]:
    async with start_pubsub_server() as pubsub:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{pubsub.port}")
        yield pubsub


@asynccontextmanager
async def pulling(receive_message: ReceiveMessage) -> AsyncIterator["asyncio.Task[None]"]:
    subscriber = PubSubSubscriber(
        lambda: open_subscriber(TLSSettings()), receive_message, subscription=SUBSCRIPTION, max_messages=10
    )
    task = asyncio.create_task(subscriber.pull_messages())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_message_is_acknowledged_once_it_was_received(pubsub: PubSubServer) -> None:
    received: list[tuple[bytes, str]] = []

    async def receive_message(data: bytes, message_id: str) -> None:
        received.append((data, message_id))

    async with pulling(receive_message):
        message_id = await pubsub.publish(b"data")
        await pubsub.wait_until(lambda: pubsub.acknowledged == [message_id])

    assert received == [(b"data", message_id)]


async def test_message_that_waits_for_kafka_stays_leased_and_is_not_delivered_twice(pubsub: PubSubServer) -> None:
    kafka_is_back = asyncio.Event()

    async def receive_message(_data: bytes, _message_id: str) -> None:
        await kafka_is_back.wait()

    async with pulling(receive_message):
        message_id = await pubsub.publish(b"data")
        # One extension comes at once; the next one comes before the lease of ten seconds is over.
        await pubsub.wait_until(lambda: len(pubsub.extensions) >= 2)
        assert pubsub.acknowledged == []
        kafka_is_back.set()
        await pubsub.wait_until(lambda: pubsub.acknowledged == [message_id])

    assert pubsub.deliveries == [message_id]


async def test_what_a_stop_leaves_unfinished_is_given_back_and_comes_to_the_next_process(pubsub: PubSubServer) -> None:
    is_begun = asyncio.Event()

    async def wait_for_ever(_data: bytes, _message_id: str) -> None:
        is_begun.set()
        await asyncio.Event().wait()

    async def receive_message(_data: bytes, _message_id: str) -> None:
        return

    async with pulling(wait_for_ever):
        message_id = await pubsub.publish(b"data")
        await is_begun.wait()
    assert pubsub.acknowledged == []

    async with pulling(receive_message):
        await pubsub.wait_until(lambda: pubsub.acknowledged == [message_id], within_s=8.0)  # the lease is 10 s


async def test_messages_of_one_ordering_key_are_received_one_after_the_other(pubsub: PubSubServer) -> None:
    released = asyncio.Event()
    received: list[str] = []

    async def receive_message(data: bytes, _message_id: str) -> None:
        received.append(data.decode())
        if data == b"a-1":
            await released.wait()

    for data, key in ((b"a-1", "a"), (b"a-2", "a"), (b"b-1", "b")):
        await pubsub.publish(data, ordering_key=key)
    async with pulling(receive_message):
        await pubsub.wait_until(lambda: len(pubsub.acknowledged) == 1)
        assert received == ["a-1", "b-1"]
        released.set()
        await pubsub.wait_until(lambda: len(pubsub.acknowledged) == 3)

    assert received == ["a-1", "b-1", "a-2"]


async def test_failure_of_one_message_is_ours_and_keeps_no_other_from_coming(pubsub: PubSubServer) -> None:
    async def receive_message(data: bytes, _message_id: str) -> None:
        if data == b"bug":
            raise RuntimeError("a bug")

    async with pulling(receive_message):
        await pubsub.publish(b"bug")
        good = await pubsub.publish(b"good")
        await pubsub.wait_until(lambda: pubsub.acknowledged == [good])


async def test_missing_right_is_tried_again_and_goes_on_once_it_is_given(pubsub: PubSubServer) -> None:
    async def receive_message(_data: bytes, _message_id: str) -> None:
        return

    pubsub.refusal = grpc.StatusCode.PERMISSION_DENIED
    async with pulling(receive_message) as task:
        await pubsub.wait_until(lambda: pubsub.deliveries == ["refused"])
        pubsub.refusal = None
        message_id = await pubsub.publish(b"data")
        await pubsub.wait_until(lambda: pubsub.acknowledged == [message_id])
        assert not task.done()


def test_emulator_beyond_this_machine_is_refused_unless_the_site_is_insecure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "emulator.example:8085")
    with pytest.raises(SettingsError, match="PUBSUB_EMULATOR_HOST"):
        open_subscriber(TLSSettings())
    open_subscriber(TLSSettings(insecure=True)).close()


def test_missing_credentials_are_googles_error_and_not_a_pull_without_any(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PUBSUB_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))

    with pytest.raises(DefaultCredentialsError, match=r"missing\.json"):
        open_subscriber(TLSSettings())
