"""What a mail and a mailbox cost: bytes in Postgres, Kafka and the blob store, CPU in each process, transactions,
provider calls.

    python bench/size [--mailboxes 10] [--mails 600] [--seconds 60] [--backstop 15]
    python bench/size --mailboxes 200 --mails 0 --backstop 60 --seconds 120      # backstops alone

A whole site, half Outlook and half Gmail. First `--mails` mails with one small PDF each are delivered; what tables,
topics and CPU grow by between the first quarter and the last is divided by their number. Then a site is started
with a backstop every `--backstop` seconds and no mail: what is used in `--seconds` is divided by the number of runs.
Before both, the memory of a doc source in `doc-sources`' reader. docs/operations.md computes sites from these figures.
Exit code 1 when a document did not come within five minutes.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import tracemalloc
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

import asyncpg
from aiokafka import ConsumerRecord

from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Profile
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import DOC_SOURCES
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import Home, read_json
from mailroom_sandbox.testkit.invoice_mails import build_invoice_mail
from mailroom_sandbox.testkit.process_usage import list_processes, read_cpu_s
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

PROVIDERS = ("outlook", "gmail")
PATIENCE_S = 300.0
# First syncs and subscriptions are over by then.
QUIET_AFTER_S = 30.0
DIRECTORY_SOURCES = 20_000


@dataclass(frozen=True)
class Usage:
    """All counters of a site at one moment; the difference of two is what happened between them."""

    cpu_s: Mapping[str, float]
    tables: Mapping[str, int]
    topics: Mapping[str, int]
    blobs: int
    transactions: int
    runs: int
    calls: Counter[str]


@dataclass(frozen=True)
class Site:
    harness: SiteHarness
    control: ControlClient
    database: asyncpg.Connection
    addresses: Sequence[str]

    async def read_usage(self) -> Usage:
        await self.database.execute("vacuum")  # dead rows of a queue would count as its growth
        calls = await self.control.list_calls()
        home = self.harness.home
        return Usage(
            read_cpu_s(list_processes(home)),
            {row["name"]: row["bytes"] for row in await self.database.fetch(_TABLE_SIZES)},
            _measure_topics(home),
            sum(path.stat().st_size for path in home.blobs.rglob("*") if path.is_file()),
            await self.database.fetchval(_TRANSACTIONS),
            await self.database.fetchval("select count(*) from sync_engine.sync_run"),
            Counter(f"{call['provider']} {call['method']}" for call in calls),
        )


# Committed and rolled back, of every session; the bench's own are a handful.
_TRANSACTIONS = "select sum(xact_commit + xact_rollback)::bigint from pg_stat_database"

_TABLE_SIZES = """
select format('%s.%s', n.nspname, c.relname) as name, pg_total_relation_size(c.oid) as bytes
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname in
    ('subscription_manager', 'sync_engine', 'ingestion', 'mailroom_quota', 'mailroom_tokens', 'bo_airflow')
"""


def _measure_topics(home: Home) -> dict[str, int]:
    """Bytes of the segments of each topic; indexes are allocated ahead, so that their size says nothing."""
    sizes: Counter[str] = Counter()
    for segment in (home.kafka / "data").rglob("*.log"):
        topic, _, partition = segment.parent.name.rpartition("-")
        if partition.isdigit():
            sizes[topic] += segment.stat().st_size
    return dict(sizes)


@asynccontextmanager
async def running_site(folder: Path, mailboxes: int, environment: Mapping[str, str]) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        harness = await stack.enter_async_context(site_harness(folder, "up", environment=environment))
        trusted = ca.load_or_create_certificates(harness.home.tls).client_context()
        endpoints = harness.endpoints
        if endpoints.api_key is None:
            raise RuntimeError("the site has no key of its own")
        api = await stack.enter_async_context(MailroomAPI(endpoints.public, endpoints.api_key, trusted))
        port = read_json(harness.home.ports, {})["sandbox_control"]
        control = await stack.enter_async_context(ControlClient(f"http://127.0.0.1:{port}"))
        database = await asyncpg.connect(endpoints.database)
        stack.push_async_callback(database.close)
        addresses = []
        for number in range(mailboxes):
            provider = PROVIDERS[number % len(PROVIDERS)]
            addresses.append(f"box{number}@{provider}.test")
            await control.find_or_create_mailbox(provider, addresses[-1])
            await ensure_mailbox_connected(api, provider, addresses[-1], trusted)
        yield Site(harness, control, database, addresses)


async def deliver_mails(site: Site, first: int, last: int) -> None:
    """Returns once each of them is a document."""
    for number in range(first, last):
        await site.control.deliver_mail(build_invoice_mail(number), site.addresses[number % len(site.addresses)])
    async with asyncio.timeout(PATIENCE_S):
        while await site.database.fetchval(_FINAL_DOCUMENTS) < last:  # noqa: ASYNC110  # a table tells of no change
            await asyncio.sleep(0.5)


_FINAL_DOCUMENTS = "select count(*) from ingestion.document where status not in ('pending', 'processing')"


def print_usage(before: Usage, after: Usage, count: int, unit: str) -> None:
    print(f"\nper {unit} ({count} of them), load average {os.getloadavg()[0]:.1f}")
    for name in sorted(after.cpu_s):
        if (used_s := after.cpu_s[name] - before.cpu_s.get(name, 0)) > 0:
            print(f"  CPU    {name:44}{1000 * used_s / count:10.1f} ms")
    for kind, old, new in (("table", before.tables, after.tables), ("topic", before.topics, after.topics)):
        for name, size in sorted(new.items()):
            if grown := size - old.get(name, 0):
                print(f"  {kind}  {name:44}{grown / count:10.0f} bytes")
        print(f"  {kind}s {'together':44}{(sum(new.values()) - sum(old.values())) / count:9.0f} bytes")
    print(f"  blobs  {'':44}{(after.blobs - before.blobs) / count:10.0f} bytes")
    print(f"  transactions {'':38}{(after.transactions - before.transactions) / count:10.2f}")
    for name, calls in sorted((after.calls - before.calls).items()):
        print(f"  calls  {name:44}{calls / count:10.2f}")


def measure_directory() -> None:
    """Bytes of Python's heap that one doc source takes in each process that reads `doc-sources`."""
    codec = Codec()
    settings = KafkaSettings(kafka_bootstrap="127.0.0.1:1")  # nothing is connected
    records = [_make_record(_make_source(number), codec) for number in range(DIRECTORY_SOURCES)]
    # Twice, since tracing costs time and memory that is not traced counts for nothing.
    began_s = process_time()
    _fill_directory(DocSourceDirectory(settings, codec), records)
    load_us = (process_time() - began_s) / DIRECTORY_SOURCES * 1e6
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    directory = _fill_directory(DocSourceDirectory(settings, codec), records)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"per doc source ({len(directory)} of them): a record of {len(records[0].value or b'')} bytes, read in "
        f"{load_us:.0f} us of CPU, {(after - before) / DIRECTORY_SOURCES:.0f} bytes of memory in its readers"
    )


def _fill_directory(
    directory: DocSourceDirectory, records: Sequence["ConsumerRecord[bytes, bytes]"]
) -> DocSourceDirectory:
    for record in records:
        directory.apply_record(record)
    return directory


def _make_source(number: int) -> DocSource:
    now = datetime.now(UTC)
    return DocSource(
        event_id=str(uuid.uuid4()),
        occurred_at=now,
        tenant_id="tenant-1",
        doc_source_id=str(uuid.uuid4()),
        version=5,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        address=f"accounts.payable.{number}@contoso.example",
        provider_user_id=str(uuid.uuid4()),
        provider_tenant=str(uuid.uuid4()),
        state=DocSourceState.ACTIVE,
        start_at=now,
        client_states=[ClientState(sha256=uuid.uuid4().hex * 2, valid_until=now + timedelta(days=7))],
        subscription_id=str(uuid.uuid4()),
        grant_generation=1,
    )


def _make_record(source: DocSource, codec: Codec) -> "ConsumerRecord[bytes, bytes]":
    key, value = source.doc_source_id.encode(), codec.encode(source)
    return ConsumerRecord(DOC_SOURCES.name, 0, 0, 0, 0, key, value, None, len(key), len(value), ())


async def measure_mails(folder: Path, mailboxes: int, mails: int) -> None:
    async with running_site(folder / "mails", mailboxes, {}) as site:
        await asyncio.sleep(QUIET_AFTER_S)
        await deliver_mails(site, 0, mails // 4)
        before = await site.read_usage()
        await deliver_mails(site, mails // 4, mails)
        print_usage(before, await site.read_usage(), mails - mails // 4, "mail with one PDF")


async def measure_backstops(folder: Path, mailboxes: int, seconds: float, interval_s: int) -> None:
    # Of its own: mailboxes of another site would keep to the interval that they were connected with.
    async with running_site(folder / "backstops", mailboxes, {"MAILROOM_BACKSTOP_INTERVAL_S": str(interval_s)}) as site:
        await asyncio.sleep(QUIET_AFTER_S)
        before = await site.read_usage()
        await asyncio.sleep(seconds)
        after = await site.read_usage()
        if after.runs == before.runs:
            raise RuntimeError("no backstop run ended: --seconds is too short")
        print_usage(before, after, after.runs - before.runs, "backstop run of a mailbox without new mail")


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mailboxes", type=int, default=10)
    parser.add_argument("--mails", type=int, default=600)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--backstop", type=int, default=15, help="its interval in seconds")
    options = parser.parse_args()
    measure_directory()
    with tempfile.TemporaryDirectory(prefix="mailroom-size-") as folder:
        Path(folder).chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        try:
            if options.mails:
                await measure_mails(Path(folder), options.mailboxes, options.mails)
        except TimeoutError:
            print(f"a document did not come within {PATIENCE_S:.0f} s", file=sys.stderr)
            return 1
        await measure_backstops(Path(folder), options.mailboxes, options.seconds, options.backstop)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
