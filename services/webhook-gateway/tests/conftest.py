import secrets
from collections.abc import AsyncIterator

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from gateway_fakes import GatewayHarness, build_gateway, make_source
from kafka_site import Site


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[Site]:
    site = Site(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    await site.create_topics()
    yield site
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.delete_topics([name for name in await admin.list_topics() if name.startswith(site.topic_prefix)])
    await admin.close()


@pytest.fixture
def gateway() -> GatewayHarness:
    """A gateway in memory that knows the doc source `ds-1` of Outlook."""
    return build_gateway(make_source())
