"""How long a mail takes from push to result, on the whole sandbox, and as a ratio to a bare trip through its Kafka.

    python bench/latency [--mails 60] [--mailboxes 4] [--replay 200 | --pictures]

A mail is handed to the sandbox's provider, which announces it at once; it is over when its record is in
`ingestion-results`. Between lie seven processes, two provider calls, five topics and three databases' commits. Mails
come one at a time and go round the mailboxes, so that none is held back by the coalescing window. Exit code 1 when a
result did not come.

With `--replay` so many mails come first, and then the measurement is made twice: without and with a replay of all their
attachments, over and over, beside it. With `--pictures` the second time is beside a mailbox that gets scanned pages, of
which OCR always has one in hand and one waiting.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from time import perf_counter

from aiokafka import AIOKafkaConsumer
from PIL import Image, ImageDraw, ImageFont

from mailroom_common.events import IngestionResult
from mailroom_common.kafka.client import create_consumer, create_producer
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import INGESTION_RESULTS, LIFECYCLE_EVENTS
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import read_json
from mailroom_sandbox.site.stack.kafka_security import ClusterAccess
from mailroom_sandbox.testkit.invoice_mails import build_invoice_mail
from mailroom_sandbox.testkit.site_harness import site_harness

PROVIDERS = ("outlook", "gmail")
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Box:
    provider: str
    address: str
    doc_source_id: str


@dataclass(frozen=True)
class Site:
    control: ControlClient
    kafka: str
    boxes: Sequence[Box]
    scanner: Box | None = None


@asynccontextmanager
async def running_site(folder: Path, mailboxes: int, *, with_pictures: bool = False) -> AsyncIterator[Site]:
    environment = {"MAILROOM_OCR_PROCESSES": "1" if with_pictures else "0"}
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(site_harness(folder / "home", "up", environment=environment))
        trusted = ca.load_or_create_certificates(running.home.tls).client_context()
        endpoints = running.endpoints
        if endpoints.api_key is None:
            raise RuntimeError("the site has no key of its own")
        api = await stack.enter_async_context(MailroomAPI(endpoints.public, endpoints.api_key, trusted))
        port = read_json(running.home.ports, {})["sandbox_control"]
        control = await stack.enter_async_context(ControlClient(f"http://127.0.0.1:{port}"))
        boxes = []
        for number in range(mailboxes):
            for provider in PROVIDERS:
                address = f"box{number}@{provider}.test"
                await control.find_or_create_mailbox(provider, address)
                boxes.append(Box(provider, address, await ensure_mailbox_connected(api, provider, address, trusted)))
        scanner = None
        if with_pictures:
            address = f"scanner@{PROVIDERS[0]}.test"
            await control.find_or_create_mailbox(PROVIDERS[0], address)
            scanner = Box(PROVIDERS[0], address, await ensure_mailbox_connected(api, PROVIDERS[0], address, trusted))
        yield Site(control, endpoints.kafka, boxes, scanner)


class Results:
    """The end of the way: doc sources, as their results come in. One that a replay repeats has a known event id."""

    def __init__(self, consumer: AIOKafkaConsumer, known: set[str]) -> None:
        self._consumer = consumer
        self._known = known
        self._codec = Codec()

    async def next_of(self, doc_source_id: str | None = None) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                record = await self._consumer.getone()
                event = self._codec.decode(INGESTION_RESULTS, record.value)
                if not isinstance(event, IngestionResult) or event.event_id in self._known:
                    continue
                self._known.add(event.event_id)
                if doc_source_id in (None, event.doc_source_id):
                    return


async def measured(site: Site, mails: int, known: set[str]) -> dict[str, list[float]]:
    """Milliseconds from the hand-over to the result, by provider."""
    consumer = create_consumer(
        ClusterAccess(site.kafka), INGESTION_RESULTS.name, auto_offset_reset="latest", fetch_max_wait_ms=20
    )
    await consumer.start()
    found: dict[str, list[float]] = {provider: [] for provider in PROVIDERS}
    try:
        await consumer.seek_to_end()
        results = Results(consumer, known)
        for number in range(mails + len(site.boxes)):
            box = site.boxes[number % len(site.boxes)]
            began_s = perf_counter()
            await site.control.deliver_mail(build_invoice_mail(number), box.address)
            await results.next_of(box.doc_source_id)
            if number >= len(site.boxes):  # the first round warms up
                found[box.provider].append((perf_counter() - began_s) * 1000)
    finally:
        await consumer.stop()
    return found


async def bare_trips(kafka: str, count: int) -> list[float]:
    """Milliseconds of one record to a topic and back, `acks=all`: what five of them cost before anything is done."""
    topic = LIFECYCLE_EVENTS.dead_letter_topic
    consumer = create_consumer(ClusterAccess(kafka), topic, auto_offset_reset="latest", fetch_max_wait_ms=100)
    producer = create_producer(ClusterAccess(kafka), acks="all", enable_idempotence=True)
    await producer.start()
    await consumer.start()
    try:
        await consumer.seek_to_end()
        found = []
        for number in range(count + 5):
            began_s = perf_counter()
            await producer.send_and_wait(topic, b"x" * 300, key=str(number).encode())
            await consumer.getone()
            found.append((perf_counter() - began_s) * 1000)
        return found[5:]
    finally:
        await consumer.stop()
        await producer.stop()


def row(name: str, found: list[float], base: float) -> str:
    p50 = statistics.median(found)
    p95 = statistics.quantiles(found, n=20)[-1]
    return f"  {name:10} {len(found):4} mails  p50 {p50:7.0f} ms  p95 {p95:7.0f} ms  p50 / bare trip {p50 / base:6.1f}"


async def fill_mailboxes(site: Site, mails: int, known: set[str]) -> None:
    """The history that is replayed: delivered at once, and waited for."""
    consumer = create_consumer(ClusterAccess(site.kafka), INGESTION_RESULTS.name, auto_offset_reset="latest")
    await consumer.start()
    try:
        await consumer.seek_to_end()
        for number in range(mails):
            box = site.boxes[number % len(site.boxes)]
            await site.control.deliver_mail(build_invoice_mail(10_000 + number), box.address)
        results = Results(consumer, known)
        for _ in range(mails):
            await results.next_of()
    finally:
        await consumer.stop()


@asynccontextmanager
async def replaying(site: Site, rate: int) -> AsyncIterator[Counter[str]]:
    """`mailroom replay attachments --all`, again and again, as long as the block lasts. Counts what was replayed."""
    counts: Counter[str] = Counter()
    stopping = asyncio.Event()

    async def replay_on() -> None:
        while not stopping.is_set():
            command = ("replay", "attachments", "--all", "--rate", str(rate), "--replay-id", uuid.uuid4().hex, "--json")
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "mailroom_cli",
                *command,
                env={"MAILROOM_KAFKA_BOOTSTRAP": site.kafka},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            output, _ = await process.communicate()
            if process.returncode:
                raise RuntimeError(f"the replay ended with {process.returncode}")
            counts.update(json.loads(output)["counts"])

    working = asyncio.create_task(replay_on())
    try:
        yield counts
    finally:
        stopping.set()
        await working


@asynccontextmanager
async def reading_pictures(site: Site) -> AsyncIterator[list[str]]:
    """Scanned pages, one in hand and one waiting, as long as the block lasts. Lists how they ended."""
    assert site.scanner is not None
    scanner, statuses = site.scanner, list[str]()
    consumer = create_consumer(ClusterAccess(site.kafka), INGESTION_RESULTS.name, auto_offset_reset="latest")
    await consumer.start()

    async def read_on() -> None:
        codec = Codec()
        for number in range(2):
            await site.control.deliver_mail(build_picture_mail(number), scanner.address)
        while True:
            event = codec.decode(INGESTION_RESULTS, (await consumer.getone()).value)
            if isinstance(event, IngestionResult) and event.doc_source_id == scanner.doc_source_id:
                statuses.append(event.status.value)
                await site.control.deliver_mail(build_picture_mail(len(statuses) + 1), scanner.address)

    await consumer.seek_to_end()
    working = asyncio.create_task(read_on())
    try:
        yield statuses
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await consumer.stop()


def build_picture_mail(number: int) -> bytes:
    """A mail with a page of A4 at 150 dpi, full of text."""
    page = Image.new("L", (1240, 1754), 250)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(22)
    for row in range(45):
        draw.text((90, 90 + 34 * row), f"{row + 1:3}  Minutes {number} of the meeting, item {row * 7919}", 20, font)
        draw.text((980, 90 + 34 * row), f"{row * 104729 % 99991 / 100:.2f}", 20, font)
    file = BytesIO()
    page.save(file, "PNG")
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "scanner@acme.example", "ap@contoso.example", f"Scan {number}"
    mail["Message-ID"] = f"<{uuid.uuid4()}@acme.example>"
    mail.set_content("A scan.")
    mail.add_attachment(file.getvalue(), maintype="image", subtype="png", filename=f"scan-{number}.png")
    return mail.as_bytes()


async def bench(
    folder: Path,
    mails: int,
    mailboxes: int,
    say: Callable[[str], None],
    *,
    replay: int = 0,
    rate: int = 50,
    with_pictures: bool = False,
) -> None:
    async with running_site(folder, mailboxes, with_pictures=with_pictures) as site:
        trips = await bare_trips(site.kafka, 100)
        base = statistics.median(trips)
        say(f"push to result, {len(site.boxes)} mailboxes, one mail at a time; bare trip p50 {base:.1f} ms")
        known: set[str] = set()
        if replay:
            await fill_mailboxes(site, replay, known)
        for provider, found in (await measured(site, mails, known)).items():
            say(row(provider, found, base))
        if replay:
            async with replaying(site, rate) as counts:
                beside = await measured(site, mails, known)
            say(f"beside a replay of {replay} attachments, {rate} a second: {counts['sent']} were sent")
            for provider, found in beside.items():
                say(row(provider, found, base))
        if with_pictures:
            async with reading_pictures(site) as statuses:
                beside = await measured(site, mails, known)
            say(f"beside scanned pages: {len(statuses)} were read meanwhile, {dict(Counter(statuses))}")
            for provider, found in beside.items():
                say(row(provider, found, base))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mails", type=int, default=60, help="how many are measured, over all mailboxes")
    parser.add_argument("--mailboxes", type=int, default=4, help="of each provider")
    parser.add_argument("--replay", type=int, default=0, help="so many attachments are replayed beside a second round")
    parser.add_argument("--pictures", action="store_true", help="a second round beside scanned pages, with OCR on")
    parser.add_argument("--rate", type=int, default=50, help="of the replay, records a second")
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="mailroom-latency-") as folder:
            Path(folder).chmod(0o755)  # Postgres may have to run as nobody, who must be able to come here
            asyncio.run(
                bench(
                    Path(folder),
                    given.mails,
                    given.mailboxes,
                    lambda line: print(line, flush=True),
                    replay=given.replay,
                    rate=given.rate,
                    with_pictures=given.pictures,
                )
            )
    except TimeoutError:
        print(f"no result within {PATIENCE_S:.0f} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
