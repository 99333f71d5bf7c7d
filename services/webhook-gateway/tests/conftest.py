from collections.abc import AsyncIterator

import pytest
from gateway_fakes import GATEWAY_TOPICS, GatewayHarness, build_gateway, make_source
from kafka_site import KafkaSite, create_kafka_site


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[KafkaSite]:
    async with create_kafka_site(kafka_bootstrap, GATEWAY_TOPICS) as site:
        yield site


@pytest.fixture
def gateway() -> GatewayHarness:
    """A gateway in memory that knows the doc source `ds-1` of Outlook."""
    return build_gateway(make_source())
