"""What every Kafka client of ours has in common: where the cluster is, connecting with retries, a bounded close."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiokafka.errors import KafkaError

from mailroom_common.retries import retry_forever

# How long a client may take to close: with Kafka frozen, aiokafka's own `stop` never returns.
CLOSE_TIMEOUT_S = 2.0


class KafkaAddress(Protocol):
    """`settings.KafkaSettings` has these."""

    @property
    def kafka_bootstrap(self) -> str: ...
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
