"""How fast the gateway takes pushes: the real process on real Kafka, as a ratio to a bare ASGI echo in the same run.

    python bench/gateway [--connections 8 32 128] [--partitions 48] [--pushes 500] [--rounds 8] [--seconds 2]

Beside it stands the obvious way (obvious.py). The rounds are interleaved, so that a noisy neighbour hits all alike, and
a ratio is the median over the rounds. The server under test is held on one core; wrk and Kafka share the others. Each
request is one POST of Graph with two changes, of two doc sources: two records in Kafka, `acks=all`, before it is
answered. More partitions mean fewer records in a batch; Mailroom's topics have 48. The anchor of 0.38 was measured with
12 and with one push again and again, whose records are in two of them: `--partitions 12 --pushes 1`. Kafka is one of
its own with both tiers of the compiler, or that of `MAILROOM_TEST_KAFKA`, which should have them as well and stay off
the first core. A Python built without optimization (PGO) pays twice for everything but the echo. Exit code 1 when an
answer was not 202.
"""

import argparse
import asyncio
import logging
import os
import secrets
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from wrk import Measured, Wrk, is_installed

from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Profile, Provider
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer, OutgoingEvent
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, PARTITIONS, SCHEMAS
from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.ports import free_port

SOURCES = 5_000
WARM_UP_S = 5


@dataclass(frozen=True)
class Site:
    kafka_bootstrap: str
    topic_prefix: str


@dataclass(frozen=True)
class Server:
    name: str
    port: int
    pid: int

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Round:
    measured: Measured
    cpu_us: float


async def main() -> int:
    options = _options()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each retry on a topic that is brand new
    if not is_installed():
        sys.stderr.write("bench/gateway needs wrk: install the Debian package `wrk` (apt-get install wrk)\n")
        return 2
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[1:] or cores)  # and with it whatever is started from here, but the servers
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mailroom-bench-")))
        site = await stack.enter_async_context(_site(folder, options.partitions))
        await _fill_directory(site)
        servers = [
            await stack.enter_async_context(_server("bare ASGI echo", cores[0], [str(_here() / "bare.py")], site)),
            await stack.enter_async_context(_server("the obvious way", cores[0], [str(_here() / "obvious.py")], site)),
            await stack.enter_async_context(_server("webhook_gateway", cores[0], ["-m", "webhook_gateway"], site)),
        ]
        wrk = Wrk(folder, [_push(number) for number in range(options.pushes)])
        failures = 0
        for connections in options.connections:
            rounds = _measure(servers, wrk, connections=connections, options=options)
            failures += _report(servers, rounds, connections)
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--pushes", type=int, default=500, help="different ones; each has two doc sources of its own")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=2)
    return parser.parse_args()


def _measure(
    servers: list[Server], wrk: Wrk, *, connections: int, options: argparse.Namespace
) -> dict[str, list[Round]]:
    found: dict[str, list[Round]] = {server.name: [] for server in servers}
    for number in range(options.rounds + 1):
        for server in servers:
            before_s = server.cpu_s()
            measured = wrk.run(server.port, connections=connections, seconds=options.seconds if number else WARM_UP_S)
            cpu_us = (server.cpu_s() - before_s) / max(1, measured.requests) * 1e6
            if number:  # the first round only warms up
                found[server.name].append(Round(measured, cpu_us))
    return found


def _report(servers: list[Server], rounds: dict[str, list[Round]], connections: int) -> int:
    base = rounds[servers[0].name]
    print(f"{connections} connections", flush=True)
    failures = 0
    for server in servers:
        found = rounds[server.name]
        of_base = [
            one.measured.requests_per_s / of.measured.requests_per_s for one, of in zip(found, base, strict=True)
        ]
        failed = sum(one.measured.failures for one in found)
        failures += failed
        print(
            f"  {server.name:16} {_median(found, 'requests_per_s'):8.0f} req/s  ratio {statistics.median(of_base):.3f}"
            f" ({min(of_base):.3f}-{max(of_base):.3f})  p50 {_median(found, 'p50_ms'):6.2f} ms"
            f"  p99 {_median(found, 'p99_ms'):6.2f} ms  cpu {min(one.cpu_us for one in found):4.0f} us/req"
            f"  failed {failed}"
        )
    return failures


def _median(rounds: list[Round], field: str) -> float:
    values: list[float] = [getattr(one.measured, field) for one in rounds]
    return statistics.median(values)


def _here() -> Path:
    return Path(__file__).parent


@asynccontextmanager
async def _site(folder: Path, partitions: int) -> AsyncIterator[Site]:
    given = os.environ.get("MAILROOM_TEST_KAFKA")
    async with AsyncExitStack() as stack:
        bootstrap = await stack.enter_async_context(_own_kafka(folder)) if given is None else given
        site = Site(bootstrap, f"bench{secrets.token_hex(4)}.")
        names = [site.topic_prefix + topic.name for topic in (DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS)]
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        stack.push_async_callback(admin.close)
        await admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        if given is not None:
            stack.push_async_callback(admin.delete_topics, names)
        yield site


@asynccontextmanager
async def _own_kafka(folder: Path) -> AsyncIterator[str]:
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


@asynccontextmanager
async def _server(name: str, core: int, arguments: list[str], site: Site) -> AsyncIterator[Server]:
    port = free_port()
    if arguments[0] != "-m":
        arguments = [*arguments, str(port)]
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("MAILROOM_")},
        "MAILROOM_KAFKA_BOOTSTRAP": site.kafka_bootstrap,
        "MAILROOM_TOPIC_PREFIX": site.topic_prefix,
        "MAILROOM_HTTP_PORT": str(port),
        "MAILROOM_LOG_LEVEL": "error",
    }
    command = ["taskset", "-c", str(core), sys.executable, *arguments]
    process = await asyncio.create_subprocess_exec(*command, env=env)
    try:
        await _answers(port)
        yield Server(name, port, process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _answers(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for _ in range(600):
            try:
                if (await http.post("/webhooks/outlook", json=_push(0))).status_code == 202:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            await asyncio.sleep(0.1)
    raise RuntimeError(f"nothing takes pushes on port {port} after a minute")


def _doc_source_id(number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"bench-{number}"))


async def _fill_directory(site: Site) -> None:
    async with EventProducer(site, Codec(), client_id="bench") as producer:
        await producer.learn_partitions(DOC_SOURCES)
        sources = [_source(_doc_source_id(number)) for number in range(SOURCES)]
        for start in range(0, SOURCES, 500):
            batch = [
                OutgoingEvent(DOC_SOURCES, source.doc_source_id, source) for source in sources[start : start + 500]
            ]
            await producer.send_events(batch, timeout_s=30)


def _source(doc_source_id: str) -> DocSource:
    now = datetime.now(UTC)
    hashed = sha256(f"{doc_source_id}:secret".encode()).hexdigest()
    return DocSource(
        event_id="bench",
        occurred_at=now,
        tenant_id="bench",
        doc_source_id=doc_source_id,
        version=1,
        provider=Provider.OUTLOOK,
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        address=f"{doc_source_id}@example.com",
        state=DocSourceState.ACTIVE,
        client_states=[ClientState(sha256=hashed, valid_until=now + timedelta(days=7))],
        subscription_id=str(uuid5(NAMESPACE_URL, doc_source_id)),
    )


def _push(number: int) -> dict[str, Any]:
    return {"value": [_change(2 * number), _change(2 * number + 1)]}


def _change(number: int) -> dict[str, Any]:
    """As Graph sends it: about 950 bytes."""
    doc_source_id = _doc_source_id(number % SOURCES)
    message_id = "AAMkAGI" + sha256(str(number).encode()).hexdigest() * 2 + "AAA="
    user = uuid5(NAMESPACE_URL, f"user-{number}")
    return {
        "subscriptionId": str(uuid5(NAMESPACE_URL, doc_source_id)),
        "subscriptionExpirationDateTime": "2027-01-01T00:00:00.0000000Z",
        "changeType": "created",
        "resource": f"Users/{user}/Messages/{message_id}",
        "resourceData": {
            "@odata.type": "#Microsoft.Graph.Message",
            "@odata.id": f"Users/{user}/Messages/{message_id}",
            "@odata.etag": 'W/"CQAAABYAAAC4ofQHEIqCSbQPot83AFcbAAAnjjuZ"',
            "id": message_id,
        },
        "clientState": f"{doc_source_id}:secret",
        "tenantId": str(uuid5(NAMESPACE_URL, "tenant")),
    }


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
