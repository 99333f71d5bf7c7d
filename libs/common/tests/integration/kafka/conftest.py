"""Each test has its own topics, with the few partitions that the consumers need."""

from collections.abc import AsyncIterator, Awaitable, Callable

import kafka_site
import pytest
from kafka_site import KafkaSite, create_kafka_site

from mailroom_common.topics import ATTACHMENTS, DOC_SOURCES, NOTIFICATIONS, SCHEMAS, SYNC_REQUESTS


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[KafkaSite]:
    topics = (ATTACHMENTS, DOC_SOURCES, NOTIFICATIONS, SCHEMAS, SYNC_REQUESTS)
    async with create_kafka_site(kafka_bootstrap, topics) as site:
        yield site


@pytest.fixture
def eventually() -> Callable[..., Awaitable[None]]:
    return kafka_site.eventually
