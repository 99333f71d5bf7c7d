"""Kafka, Postgres and S3 for tests from containers, where `MAILROOM_TEST_STACK=containers` asks for them.

Images are those of docker-compose.yml, with its variables (`KAFKA_IMAGE` and others) to name different ones. The engine
is Docker or whatever `DOCKER_HOST` names, podman's socket for one; it has to run on this machine.
"""

import asyncio
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testcontainers.core.container import DockerContainer

from mailroom_sandbox.site.stack import jars, kafka, postgres
from mailroom_sandbox.site.stack.home import find_checkout
from mailroom_sandbox.site.stack.kafka_security import ClusterAccess
from mailroom_sandbox.site.stack.ports import free_port

READY_S = 180
S3_KEY = "mailroom-test"  # access key and secret key alike
# Nothing of it has to survive the container.
_POSTGRES_SETTINGS = (
    "listen_addresses=*",
    "max_connections=300",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
)
_KAFKA_PORT, _POSTGRES_PORT, _S3_PORT = 9092, 5432, 7070


@contextmanager
def kafka_container(folder: Path) -> Iterator[str]:
    """The bootstrap address of a broker; `folder` takes its settings."""
    # Clients are told the address by the broker itself, so the port on this machine is chosen before it starts.
    port = free_port()
    folder.mkdir(mode=0o755)
    folder.joinpath("server.properties").write_text(
        (jars.FILES / "server.properties").read_text() + f"log.dirs=/var/lib/kafka/data\n"
        f"listeners=CLIENTS://:{_KAFKA_PORT},CONTROLLER://127.0.0.1:{_KAFKA_PORT + 1}\n"
        f"advertised.listeners=CLIENTS://127.0.0.1:{port}\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{_KAFKA_PORT + 1}\n"
        + "".join(f"{name}={value}\n" for name, value in kafka.QUICK_CLEANING.items())
    )
    container = (
        DockerContainer(find_image("KAFKA_IMAGE"))
        .with_bind_ports(_KAFKA_PORT, port)
        .with_volume_mapping(str(folder), "/mnt/shared/config", "ro")
    )
    access = ClusterAccess(f"127.0.0.1:{port}")
    with _running(container, lambda: kafka.is_cluster_answering(access)):
        yield access.kafka_bootstrap


@contextmanager
def postgres_container() -> Iterator[str]:
    """The superuser's URL of a server that forgets everything with its container."""
    password = secrets.token_urlsafe(16)
    container = (
        DockerContainer(find_image("POSTGRES_IMAGE"))
        .with_exposed_ports(_POSTGRES_PORT)
        .with_env("POSTGRES_USER", postgres.USER)
        .with_env("POSTGRES_PASSWORD", password)
        .with_env("POSTGRES_DB", "postgres")
        .with_command(["postgres", *(f"--{setting}" for setting in _POSTGRES_SETTINGS)])
    )

    def build_url() -> str:
        host = f"127.0.0.1:{container.get_exposed_port(_POSTGRES_PORT)}"
        return f"postgresql://{postgres.USER}:{password}@{host}/postgres"

    with _running(container, lambda: postgres.is_server_answering(build_url())):
        yield build_url()


@contextmanager
def s3_container() -> Iterator[str]:
    """The endpoint of an object store without buckets; its keys are `S3_KEY`."""
    container = (
        DockerContainer(find_image("S3_IMAGE"))
        .with_exposed_ports(_S3_PORT)
        .with_env("ROOT_ACCESS_KEY", S3_KEY)
        .with_env("ROOT_SECRET_KEY", S3_KEY)
        .with_kwargs(entrypoint=["sh", "-c"])
        .with_command(["mkdir -p /data && exec versitygw --port :7070 posix /data"])
    )
    with _running(container, lambda: _accepts_connections(int(container.get_exposed_port(_S3_PORT)))):
        yield f"http://127.0.0.1:{container.get_exposed_port(_S3_PORT)}"


def find_image(variable: str) -> str:
    """What the variable says, or the image that docker-compose.yml names behind it."""
    compose = (find_checkout() / "docker-compose.yml").read_text()
    default = re.search(rf"\$\{{{variable}:-([^}}]+)\}}", compose)
    if default is None:
        raise RuntimeError(f"docker-compose.yml names no image by {variable}")
    return os.environ.get(variable) or default[1]


@contextmanager
def _running(container: DockerContainer, is_ready: Callable[[], Awaitable[bool]]) -> Iterator[None]:
    with container:
        try:
            asyncio.run(_wait_until_ready(is_ready))
        except TimeoutError:
            output = b"".join(container.get_logs()).decode(errors="replace")
            raise RuntimeError(f"{container.image} is not ready after {READY_S} s:\n{output[-2000:]}") from None
        yield


async def _wait_until_ready(is_ready: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(READY_S):
        while not await is_ready():  # noqa: ASYNC110  # a server tells nobody that it is ready
            await asyncio.sleep(0.2)


async def _accepts_connections(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
