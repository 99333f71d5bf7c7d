import asyncio
import json

import pytest
from gateway_fakes import (
    GMAIL_ADDRESS,
    NOW,
    SUBSCRIPTION,
    FakeEventWriter,
    FakeSourceDirectory,
    make_gmail_source,
)
from structlog.testing import capture_logs

from mailroom_common.events import DocSourceState
from webhook_gateway.adapters.doc_source_lookup import BoundedDocSourceLookup
from webhook_gateway.api.pubsub_pull import PulledMessages
from webhook_gateway.handlers.receive_gmail_push import GmailPushReceiver

DATA = json.dumps({"emailAddress": GMAIL_ADDRESS, "historyId": 77}).encode()


def build_messages(directory: FakeSourceDirectory, writer: FakeEventWriter) -> PulledMessages:
    lookup = BoundedDocSourceLookup(directory, catch_up_timeout_s=1.0, max_catch_ups=5)
    receiver = GmailPushReceiver(lookup, writer, clock=lambda: NOW)
    return PulledMessages(receiver, subscription=SUBSCRIPTION, attempt_timeout_s=2.0)


@pytest.fixture
def directory() -> FakeSourceDirectory:
    directory = FakeSourceDirectory()
    directory.add_sources(make_gmail_source())
    return directory


async def test_pulled_message_becomes_one_notification_of_each_doc_source_of_the_mailbox(
    directory: FakeSourceDirectory,
) -> None:
    directory.add_sources(make_gmail_source("ds-2"), make_gmail_source("ds-3", state=DocSourceState.PAUSED))
    writer = FakeEventWriter()

    await build_messages(directory, writer).receive_message(DATA, "m-1")

    assert writer.get_keys() == [("notifications", "ds-1"), ("notifications", "ds-2")]
    assert [event.history_id for event in writer.get_events("notifications")] == ["77", "77"]


async def test_pulled_message_may_not_be_acknowledged_before_kafka_has_it(directory: FakeSourceDirectory) -> None:
    writer = FakeEventWriter(acknowledged=asyncio.Event())
    receiving = asyncio.create_task(build_messages(directory, writer).receive_message(DATA, "m-1"))
    await writer.write_started.wait()
    assert not receiving.done()

    assert writer.acknowledged is not None
    writer.acknowledged.set()
    await receiving
    assert writer.get_keys() == [("notifications", "ds-1")]


async def test_pulled_message_is_tried_again_until_kafka_takes_it(directory: FakeSourceDirectory) -> None:
    writer = FakeEventWriter(is_unavailable=True)
    with capture_logs() as logs:
        receiving = asyncio.create_task(build_messages(directory, writer).receive_message(DATA, "m-1"))
        await writer.write_started.wait()
        writer.is_unavailable = False
        await receiving

    assert writer.get_keys() == [("notifications", "ds-1")]
    assert [line["event"] for line in logs] == ["pubsub_message_delayed"]


async def test_message_of_an_address_that_nobody_connected_is_done_with() -> None:
    directory, writer = FakeSourceDirectory(), FakeEventWriter()

    await build_messages(directory, writer).receive_message(DATA, "m-1")

    assert writer.written == []
    assert directory.catch_up_timeouts_s == [1.0]  # it may have been connected a moment ago


@pytest.mark.parametrize("data", [b"", b"not JSON", b"[]", b'{"emailAddress": "a@b"}', b'{"historyId": 3}'])
async def test_message_that_is_no_notification_is_refused_with_its_reason_and_does_not_come_for_ever(
    directory: FakeSourceDirectory, data: bytes
) -> None:
    writer = FakeEventWriter()
    with capture_logs() as logs:
        await build_messages(directory, writer).receive_message(data, "m-1")

    assert writer.written == []
    assert [(line["event"], line["message_id"]) for line in logs] == [("pubsub_message_refused", "m-1")]
    assert logs[0]["reason"]
