"""How long new mail takes from push to result while the first sync of a big mailbox is under way.

    python bench/first_sync [--provider outlook] [--old 20000] [--others 30] [--mails 120] [--interval 1]

A whole site. One mailbox holds `--old` mails with one small PDF each, from before it is connected; `--others` are
connected and idle. Then it is connected, and a new mail is delivered each `--interval` seconds, in turn to the big
mailbox and to one of the others. A mail is over when its record is in `ingestion-results`. Exit code 1 when a result
did not come within two minutes, or when the first sync had ended before the last mail.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from aiokafka import AIOKafkaConsumer

from mailroom_common.events import IngestionResult
from mailroom_common.kafka.client import create_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import INGESTION_RESULTS
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import read_json
from mailroom_sandbox.site.stack.kafka_security import ClusterAccess
from mailroom_sandbox.testkit.invoice_mails import build_invoice_mail
from mailroom_sandbox.testkit.site_harness import site_harness

PROVIDERS = ("outlook", "gmail")
PATIENCE_S = 120.0
OLD_MAIL_AGE = timedelta(days=3)
COPIES_PER_CALL = 1000


@dataclass
class Arrivals:
    """When each mail was handed to the provider, and when its result came. Results of other mails are counted."""

    delivered: dict[str, float] = field(default_factory=dict)
    took_s: dict[str, float] = field(default_factory=dict)
    others: int = 0

    async def read_results(self, consumer: AIOKafkaConsumer) -> None:
        codec = Codec()
        async for record in consumer:
            event = codec.decode(INGESTION_RESULTS, record.value)
            if not isinstance(event, IngestionResult):
                continue
            if event.message_id in self.delivered:
                self.took_s.setdefault(event.message_id, perf_counter() - self.delivered[event.message_id])
            else:
                self.others += 1

    async def wait_for_all(self) -> None:
        """Returns after `PATIENCE_S` at the latest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while len(self.took_s) < len(self.delivered):  # noqa: ASYNC110  # another task reads them
                    await asyncio.sleep(0.1)


async def fill_mailbox(control: ControlClient, address: str, count: int) -> None:
    """Copies of one mail: each has its own id, and their documents cost ingestion as little as duplicates do."""
    received_at = datetime.now(UTC) - OLD_MAIL_AGE
    for first in range(0, count, COPIES_PER_CALL):
        times = min(COPIES_PER_CALL, count - first)
        await control.deliver_mail(build_invoice_mail(-1 - first), address, received_at=received_at, times=times)


def describe(name: str, message_ids: Sequence[str], took_s: Mapping[str, float]) -> str:
    found = [took_s[message_id] for message_id in message_ids if message_id in took_s]
    if len(found) < 2:
        return f"  {name:18} {len(found)} of {len(message_ids)} mails came"
    p95 = statistics.quantiles(found, n=20)[-1]
    came = f"{len(found)} of {len(message_ids)} mails came"
    return f"  {name:18} {came}  p50 {statistics.median(found):6.2f} s  p95 {p95:6.2f} s"


async def bench(folder: Path, options: argparse.Namespace) -> int:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(site_harness(folder / "home", "up", environment={}))
        trusted = ca.load_or_create_certificates(running.home.tls).client_context()
        endpoints = running.endpoints
        if endpoints.api_key is None:
            raise RuntimeError("the site has no key of its own")
        api = await stack.enter_async_context(MailroomAPI(endpoints.public, endpoints.api_key, trusted))
        port = read_json(running.home.ports, {})["sandbox_control"]
        control = await stack.enter_async_context(ControlClient(f"http://127.0.0.1:{port}"))
        others = []
        for number in range(options.others):
            provider = PROVIDERS[number % len(PROVIDERS)]
            others.append(f"other{number}@{provider}.test")
            await control.find_or_create_mailbox(provider, others[-1])
            await ensure_mailbox_connected(api, provider, others[-1], trusted)
        big = f"big@{options.provider}.test"
        await control.find_or_create_mailbox(options.provider, big)
        await fill_mailbox(control, big, options.old)
        start_at = (datetime.now(UTC) - OLD_MAIL_AGE - timedelta(days=1)).isoformat()
        wanted = {"provider": options.provider, "profile": "invoice", "address": big, "start_at": start_at}
        await api.post_json("/doc-sources", wanted)
        source = await ensure_mailbox_connected(api, options.provider, big, trusted)

        consumer = create_consumer(ClusterAccess(endpoints.kafka), INGESTION_RESULTS.name, auto_offset_reset="latest")
        await consumer.start()
        stack.push_async_callback(consumer.stop)
        arrivals = Arrivals()
        reading = asyncio.create_task(arrivals.read_results(consumer))
        stack.callback(reading.cancel)
        began_s = perf_counter()
        by_mailbox: dict[str, list[str]] = {"the big mailbox": [], "the others": []}
        for number in range(options.mails):
            is_big = number % 2 == 0
            address = big if is_big else others[number // 2 % len(others)]
            handed_s = perf_counter()
            (message_id,) = await control.deliver_mail(build_invoice_mail(number), address)
            arrivals.delivered[message_id] = handed_s
            by_mailbox["the big mailbox" if is_big else "the others"].append(message_id)
            await asyncio.sleep(options.interval)
        took_s = perf_counter() - began_s
        old_per_s = arrivals.others / took_s
        await arrivals.wait_for_all()
        state = (await api.list_items("/sync-states", doc_source_id=source))[0]
        print(f"first sync of {options.old} mails at {options.provider}, {options.others} other mailboxes")
        for name, message_ids in by_mailbox.items():
            print(describe(name, message_ids, arrivals.took_s))
        print(f"  old mail meanwhile: {old_per_s:.1f} documents a second")
        if state["last_full_run_started_at"] is not None:
            print("the first sync had ended before the last mail: ask for more --old")
            return 1
        return 0 if len(arrivals.took_s) == len(arrivals.delivered) else 1


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=PROVIDERS, default="outlook")
    parser.add_argument("--old", type=int, default=20_000)
    parser.add_argument("--others", type=int, default=30)
    parser.add_argument("--mails", type=int, default=120)
    parser.add_argument("--interval", type=float, default=1.0)
    with tempfile.TemporaryDirectory(prefix="mailroom-first-sync-") as folder:
        Path(folder).chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        return await bench(Path(folder), parser.parse_args())


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
