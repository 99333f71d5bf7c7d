"""A Kafka of a benchmark's own: with both compiler tiers, as one in production has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.ports import free_port


@asynccontextmanager
async def run_measured_kafka(folder: Path) -> AsyncIterator[str]:
    """Its bootstrap address, while it runs; `folder` is the caller's alone."""
    port = free_port()
    kafka = Kafka(
        folder / "kafka",
        await jars.provide_jars(find_home().jars),
        port=port,
        controller_port=free_port(avoid=[port]),
        log=folder / "kafka.log",
        starts_fast=False,
    )
    kafka.start()
    try:
        await kafka.wait_until_ready()
        yield kafka.bootstrap
    finally:
        await kafka.stop()
