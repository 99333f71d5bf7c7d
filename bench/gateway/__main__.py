"""How fast the gateway accepts pushes: the real process on real Kafka, as a ratio to the first server of the same run.

    python bench/gateway [--servers bare obvious gateway] [--connections 8 32 128] [--partitions 48] [--pushes 500]
                         [--rounds 8] [--seconds 2]

`bare` is an ASGI echo, `obvious` does each step by its library (obvious.py), `plain_send` is the gateway with
aiokafka's `send` instead of the group commit: `--servers gateway plain_send` shows what that saves. The rounds are
interleaved, so that a noisy neighbour hits all alike; figures and ratios are medians over the rounds. CPU is user and
system time of the server's process. The server under test is held on one core; wrk and Kafka share the others. Each
request is one POST of Graph with two changes, of two doc sources: two records in Kafka, `acks=all`, before it is
answered. More partitions mean fewer records in a batch; Mailroom's topics have 48. Kafka is one of its own with both
tiers of the compiler, or that of `MAILROOM_TEST_KAFKA`, which should have them as well and stay off the first core. A
Python built without optimization (PGO) pays twice for everything but the echo. Exit code 1 when a response was not
202.
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
from aiokafka.admin import NewTopic
from wrk import Measured, Wrk, is_installed

from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Profile
from mailroom_common.kafka.client import create_admin_client
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, PARTITIONS, SCHEMAS
from mailroom_sandbox.site.stack.measured_kafka import run_measured_kafka
from mailroom_sandbox.site.stack.ports import free_port

SOURCES = 5_000
WARM_UP_S = 5
HERE = Path(__file__).parent
# The arguments of Python for each server; they take their port and Kafka from the settings of the gateway.
SERVERS = {
    "bare": [str(HERE / "bare.py")],
    "obvious": [str(HERE / "obvious.py")],
    "gateway": ["-m", "webhook_gateway"],
    "plain_send": [str(HERE / "plain_send.py")],
}


@dataclass(frozen=True)
class Site:
    kafka_bootstrap: str
    topic_prefix: str
    kafka_security: KafkaSecurity = UNSECURED


@dataclass(frozen=True)
class Server:
    name: str
    port: int
    pid: int

    def read_cpu_s(self) -> float:
        # Of all threads, in nanoseconds: the ticks of /proc/PID/stat are 10 ms, too coarse for short rounds.
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


@dataclass(frozen=True)
class Round:
    measured: Measured
    cpu_us: float


async def main() -> int:
    options = _parse_options()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it logs each retry on a topic that is brand new
    if not is_installed():
        sys.stderr.write("bench/gateway needs wrk: install the Debian package `wrk` (apt-get install wrk)\n")
        return 2
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[1:] or cores)  # inherited by all that is started from here but the servers
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mailroom-bench-")))
        site = await stack.enter_async_context(_open_site(folder, options.partitions))
        await _fill_directory(site)
        servers = [
            await stack.enter_async_context(_run_server(name, cores[0], SERVERS[name], site))
            for name in options.servers
        ]
        wrk = Wrk(folder, [_create_push(number) for number in range(options.pushes)])
        failures = 0
        for connections in options.connections:
            rounds = _measure_servers(servers, wrk, connections=connections, options=options)
            failures += _print_rounds(servers, rounds, connections)
    return 1 if failures else 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", choices=SERVERS, nargs="+", default=["bare", "obvious", "gateway"])
    parser.add_argument("--connections", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--pushes", type=int, default=500, help="different ones; each has two doc sources of its own")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=2)
    return parser.parse_args()


def _measure_servers(
    servers: list[Server], wrk: Wrk, *, connections: int, options: argparse.Namespace
) -> dict[str, list[Round]]:
    rounds: dict[str, list[Round]] = {server.name: [] for server in servers}
    for number in range(options.rounds + 1):
        # Each round begins with another server, so that none always follows the same one.
        first = number % len(servers)
        for server in servers[first:] + servers[:first]:
            before_s = server.read_cpu_s()
            measured = wrk.measure(
                server.port, connections=connections, seconds=options.seconds if number else WARM_UP_S
            )
            cpu_us = (server.read_cpu_s() - before_s) / max(1, measured.requests) * 1e6
            if number:  # the first round only warms up
                rounds[server.name].append(Round(measured, cpu_us))
    return rounds


def _print_rounds(servers: list[Server], rounds: dict[str, list[Round]], connections: int) -> int:
    """Returns how many responses were not 202."""
    # On a busy machine a server may get no request through in a whole round: that round is left out of all.
    numbers = range(len(rounds[servers[0].name]))
    complete = [number for number in numbers if all(own[number].measured.requests for own in rounds.values())]
    rounds = {name: [own[number] for number in complete] for name, own in rounds.items()}
    base = rounds[servers[0].name]
    print(f"{connections} connections", flush=True)
    failures = 0
    for server in servers:
        own = rounds[server.name]
        rates = [
            one.measured.requests_per_s / other.measured.requests_per_s for one, other in zip(own, base, strict=True)
        ]
        costs = [one.cpu_us / other.cpu_us for one, other in zip(own, base, strict=True)]
        failed = sum(one.measured.failures for one in own)
        failures += failed
        print(
            f"  {server.name:10} {_find_median(own, 'requests_per_s'):6.0f} req/s  ratio {_describe_ratios(rates)}"
            f"  p50 {_find_median(own, 'p50_ms'):6.2f} ms  p99 {_find_median(own, 'p99_ms'):6.2f} ms"
            f"  cpu {statistics.median(one.cpu_us for one in own):4.0f} us/req  ratio {_describe_ratios(costs)}"
            f"  failed {failed}",
            flush=True,
        )
    return failures


def _describe_ratios(ratios: list[float]) -> str:
    """Median, and the quarter of rounds below and above it."""
    lower, median, upper = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return f"{median:.3f} ({lower:.3f}-{upper:.3f})"


def _find_median(rounds: list[Round], field: str) -> float:
    values: list[float] = [getattr(one.measured, field) for one in rounds]
    return statistics.median(values)


@asynccontextmanager
async def _open_site(folder: Path, partitions: int) -> AsyncIterator[Site]:
    given = os.environ.get("MAILROOM_TEST_KAFKA")
    async with AsyncExitStack() as stack:
        bootstrap = await stack.enter_async_context(run_measured_kafka(folder)) if given is None else given
        site = Site(bootstrap, f"bench{secrets.token_hex(4)}.")
        names = [site.topic_prefix + topic.name for topic in (DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS)]
        admin = create_admin_client(site)
        await admin.start()
        stack.push_async_callback(admin.close)
        await admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        if given is not None:
            stack.push_async_callback(admin.delete_topics, names)
        yield site


@asynccontextmanager
async def _run_server(name: str, core: int, arguments: list[str], site: Site) -> AsyncIterator[Server]:
    port = free_port()
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
        await _wait_for_response(port)
        yield Server(name, port, process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _wait_for_response(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        for _ in range(600):
            try:
                if (await http.post("/webhooks/outlook", json=_create_push(0))).status_code == 202:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            await asyncio.sleep(0.1)
    raise RuntimeError(f"nothing accepts pushes on port {port} after a minute")


def _build_doc_source_id(number: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"bench-{number}"))


async def _fill_directory(site: Site) -> None:
    async with EventProducer(site, Codec(), client_id="bench", linger_ms=5) as producer:
        sources = [_create_source(_build_doc_source_id(number)) for number in range(SOURCES)]
        for start in range(0, SOURCES, 500):
            sends = (producer.send_event(DOC_SOURCES, one.doc_source_id, one) for one in sources[start : start + 500])
            await asyncio.gather(*sends)


def _create_source(doc_source_id: str) -> DocSource:
    now = datetime.now(UTC)
    hashed = sha256(f"{doc_source_id}:secret".encode()).hexdigest()
    return DocSource(
        event_id="bench",
        occurred_at=now,
        tenant_id="bench",
        doc_source_id=doc_source_id,
        version=1,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        address=f"{doc_source_id}@example.com",
        state=DocSourceState.ACTIVE,
        client_states=[ClientState(sha256=hashed, valid_until=now + timedelta(days=7))],
        subscription_id=str(uuid5(NAMESPACE_URL, doc_source_id)),
    )


def _create_push(number: int) -> dict[str, Any]:
    return {"value": [_create_change(2 * number), _create_change(2 * number + 1)]}


def _create_change(number: int) -> dict[str, Any]:
    """As Graph sends it: about 950 bytes."""
    doc_source_id = _build_doc_source_id(number % SOURCES)
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
