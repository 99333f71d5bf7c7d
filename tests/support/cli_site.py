"""A site on real Kafka with a few records in it, and the command run against it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from kafka_site import PARTITIONS, KafkaSite, create_kafka_site
from typer.testing import CliRunner

from mailroom_cli.__main__ import app
from mailroom_common.events import (
    Access,
    AttachmentStored,
    DocSource,
    DocSourceState,
    Notification,
    Profile,
    derive_attachment_id,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import (
    ATTACHMENTS,
    ATTACHMENTS_BACKFILL,
    DOC_SOURCES,
    MAIL_EVENTS,
    NOTIFICATIONS,
    SCHEMAS,
    SYNC_REQUESTS_BACKFILL,
    Topic,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
TOPICS = (ATTACHMENTS, ATTACHMENTS_BACKFILL, DOC_SOURCES, MAIL_EVENTS, NOTIFICATIONS, SCHEMAS, SYNC_REQUESTS_BACKFILL)


def build_source(name: str, *, state: DocSourceState = DocSourceState.ACTIVE, tenant: str = "acme") -> DocSource:
    return DocSource(
        event_id=f"source-{name}",
        occurred_at=NOW,
        tenant_id=tenant,
        doc_source_id=name,
        version=1,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
    )


def build_notification(source: str, *, tenant: str = "acme") -> Notification:
    return Notification(
        event_id=f"n-{source}",
        occurred_at=NOW,
        tenant_id=tenant,
        doc_source_id=source,
        provider="outlook",
        provider_event="secret words of the provider",
    )


def build_attachment(source: str, message: str, *, tenant: str = "acme") -> AttachmentStored:
    identity = derive_attachment_id(source, message, "1")
    return AttachmentStored(
        event_id=f"a-{identity}",
        occurred_at=NOW,
        tenant_id=tenant,
        doc_source_id=source,
        attachment_id=identity,
        provider="outlook",
        profile=Profile.INVOICE,
        message_id=message,
        part_path="1",
        content_type="application/pdf",
        size_bytes=1,
        content_sha256="0" * 64,
        blob_key=f"documents/{identity}.pdf",
        subject="Invoice 17",
    )


@dataclass
class CliSite:
    kafka: KafkaSite
    codec: Codec
    producer: EventProducer

    @property
    def environment(self) -> dict[str, str]:
        return {
            "MAILROOM_KAFKA_BOOTSTRAP": self.kafka.kafka_bootstrap,
            "MAILROOM_TOPIC_PREFIX": self.kafka.topic_prefix,
        }

    async def run(self, *words: str) -> Any:  # Any: click's Result, whose type depends on the version of typer
        """In a thread, since a command has an event loop of its own."""
        return await asyncio.to_thread(lambda: CliRunner().invoke(app, list(words), env=self.environment))

    async def run_json(self, *words: str) -> Any:
        result = await self.run(*words, "--json")
        assert result.exit_code == 0, (result.output, result.exception)
        # What the services log comes first here: only `main` sends it to stderr.
        return json.loads(result.stdout.splitlines()[-1])

    async def connect_sources(self) -> None:
        for source in (
            build_source("active"),
            build_source("paused", state=DocSourceState.PAUSED),
            build_source("deleting", state=DocSourceState.DELETING),
            build_source("theirs", tenant="other"),
        ):
            await self.producer.send_event(DOC_SOURCES, source.doc_source_id, source)

    async def send_attachments(self, count: int, *, source: str = "active", tenant: str = "acme") -> None:
        for number in range(count):
            event = build_attachment(source, f"m{number}", tenant=tenant)
            await self.producer.send_event(ATTACHMENTS, f"{source}:m{number}", event)

    async def commit_beginning(self, group: str, topic: Topic) -> None:
        """As a member of the group that has finished nothing yet."""
        # By itself it would commit the end when it stops, where it got to know it before its beginning was taken.
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.kafka.kafka_bootstrap, group_id=group, enable_auto_commit=False
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(self.kafka.name(topic), number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.commit(dict.fromkeys(partitions, 0))
        finally:
            await consumer.stop()


@asynccontextmanager
async def open_cli_site(kafka_bootstrap: str) -> AsyncIterator[CliSite]:
    codec = Codec()
    async with (
        create_kafka_site(kafka_bootstrap, TOPICS) as kafka,
        EventProducer(kafka, codec, client_id="test") as producer,
    ):
        yield CliSite(kafka, codec, producer)
