"""The one place where Kafka clients are made: where the cluster is and how it is secured, connecting with retries, a
bounded close."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from mailroom_common.kafka.security import KafkaSecurity
from mailroom_common.retries import retry_forever

# How long a client may take to close: with Kafka frozen, aiokafka's own `stop` never returns.
CLOSE_TIMEOUT_S = 2.0


class KafkaCluster(Protocol):
    """Where a cluster is and how to connect to it; `settings.KafkaSettings` has these."""

    @property
    def kafka_bootstrap(self) -> str: ...
    @property
    def kafka_security(self) -> KafkaSecurity: ...


class KafkaAddress(KafkaCluster, Protocol):
    """A cluster, and the site on it."""

    @property
    def topic_prefix(self) -> str: ...


class MemberSettings(KafkaAddress, Protocol):
    """Of a group member; with an instance id its membership is static, and a restart moves no partition."""

    @property
    def instance_id(self) -> str | None: ...


class KafkaClient(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


C = TypeVar("C", bound=KafkaClient)


# `options` of these three are aiokafka's own keyword arguments.


def create_consumer(cluster: KafkaCluster, *topics: str, **options: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(*topics, **_connection_options(cluster), **options)


def create_producer(cluster: KafkaCluster, **options: Any) -> AIOKafkaProducer:
    return AIOKafkaProducer(**_connection_options(cluster), **options)


def create_admin_client(cluster: KafkaCluster, **options: Any) -> AIOKafkaAdminClient:
    return AIOKafkaAdminClient(**_connection_options(cluster), **options)


def _connection_options(cluster: KafkaCluster) -> dict[str, Any]:
    return {"bootstrap_servers": cluster.kafka_bootstrap, **cluster.kafka_security.build_client_options()}


async def connect_with_retry(create: Callable[[], C], client_id: str) -> C:
    """A started client; waits for a cluster that is away for as long as it takes."""

    async def start_client() -> C:
        # Each attempt has a client of its own: one of aiokafka's that failed half-way cannot be started again.
        client = create()
        try:
            await client.start()
        except BaseException:
            await close_client(client)
            raise
        return client

    # No broker answers; the client tries again for as long as it takes.
    return await retry_forever(KafkaError, OSError, log_event="kafka_unreachable", client_id=client_id)(start_client)


async def close_client(client: KafkaClient) -> None:
    """Stop a client, but wait no longer for it than a stopping process can."""
    with contextlib.suppress(TimeoutError, KafkaError, OSError):
        await asyncio.wait_for(client.stop(), CLOSE_TIMEOUT_S)
