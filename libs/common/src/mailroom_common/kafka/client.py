"""What every Kafka client of ours has in common: where the cluster is, and patience while it is away."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiokafka.errors import KafkaError

from mailroom_common.logs import get_logger

log = get_logger()

# How long a client may take to say goodbye: with Kafka frozen, aiokafka's own `stop` never returns.
CLOSE_S = 2.0


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


async def connect_with_retry(make: Callable[[], C], client_id: str) -> C:
    """A started client. A cluster that is away is not our failure: say so, and go on trying.

    Each attempt has a client of its own: one of aiokafka's that failed half-way cannot be started again.
    """
    wait_s = 0.2
    while True:
        client = make()
        try:
            await client.start()
        except (KafkaError, OSError) as error:
            log.warning("kafka_unreachable", client_id=client_id, error=_named(error), again_in_s=wait_s)
            await close_client(client)
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, 5.0)
        except BaseException:
            await close_client(client)
            raise
        else:
            return client


async def close_client(client: KafkaClient) -> None:
    """Stop a client, but wait no longer for it than a stopping process can."""
    with contextlib.suppress(TimeoutError, KafkaError, OSError):
        await asyncio.wait_for(client.stop(), CLOSE_S)


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
