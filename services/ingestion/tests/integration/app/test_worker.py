"""Worker processes on real Kafka and Postgres: one document each, and a result for every attachment."""

import asyncio
import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from generated_invoices import CII, CONTRACT_NOTE, draw, text_page
from ingestion_fakes import build_record
from ingestion_processes import free_port, running_worker, worker_settings
from ingestion_site import SCHEMA, Ingestion, utc_now
from ingestion_topics import Topics, open_topics
from pypdf import PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from template_fakes import DrawnInvoice

from ingestion.adapters.reviews import PgReviews
from ingestion.app import worker
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.review import Review, ReviewAction
from ingestion.settings import WorkerSettings
from mailroom_common.events import AttachmentStored, IngestionResult, Profile, ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.parser import ParserUnconfined
from mailroom_common.parser.confinement import REQUIRED_LAYERS
from mailroom_common.process import Process
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL

pytestmark = pytest.mark.stack

PAGE = """
Northwind Ltd
VAT number GB 123 4567 82
Bill to: Redbourne Homes Ltd
Invoice Number: NP-12
Invoice Date: 2026-03-04
Subtotal  £70.00
VAT 20%  £14.00
Total  £84.00
"""


@pytest.fixture
async def topics(kafka_bootstrap: str) -> AsyncIterator[Topics]:
    async with open_topics(kafka_bootstrap) as opened:
        yield opened


async def upload_attachment(site: Ingestion, content: bytes, **changed: object) -> AttachmentStored:
    record = build_record(content, **changed)  # type: ignore[arg-type]  # as `stored` takes them
    assert await site.put_blob(record.blob_key, content) == sha256(content).hexdigest()
    return record


def all_have_results(records: Sequence[AttachmentStored], results: Sequence[IngestionResult]) -> bool:
    return {record.attachment_id for record in records} <= {result.attachment_id for result in results}


async def test_every_kind_of_file_ends_with_its_result(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path
) -> None:
    page = [(60.0, [(40.0, "Total 1")])]
    files = {
        "e-invoice": CII(number="RE-77").pdf(),
        "disagrees": CII().pdf(page=CII(gross="120.00").page()),
        "page": text_page(PAGE),
        "minutes": text_page("Minutes of the meeting"),
        "locked": draw(page, encrypted="secret"),
        "broken": CII().pdf()[:500],
        "empty page": draw([]),
        "text": b"only called .pdf",
    }
    records = {
        name: await upload_attachment(site, content, message=name, filename=f"{name}.pdf")
        for name, content in files.items()
    }
    records["note"] = await upload_attachment(
        site, text_page(CONTRACT_NOTE), message="note", source="broker", profile=Profile.CONTRACT_NOTE
    )
    settings = worker_settings(
        postgres_url, tmp_path / "blobs", topics.settings.kafka_bootstrap, topics.settings.topic_prefix
    )
    # Names the blob of a content that is filed already, as its own: it would be removed as that of a duplicate.
    victim = records["e-invoice"]
    forged = replace(victim, doc_source_id="other", tenant_id="globex")
    async with running_worker(settings):
        await topics.publish([*records.values(), forged])
        results = await topics.results_when(lambda found: all_have_results(list(records.values()), found))
        async with asyncio.timeout(30):
            # Kafka tells nobody what it holds.
            while not (refused := await topics.dead_letters(ATTACHMENTS)):  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    assert [record.key.decode() for record in refused] == [f"other:{victim.message_id}"]
    assert "does not belong to the message of its record" in str(refused[0].headers)
    assert await site.blobs.has_blob(victim.blob_key)
    by_attachment = {result.attachment_id: result for result in results}
    ends = {name: by_attachment[record.attachment_id] for name, record in records.items()}
    assert {name: (result.status.value, result.reason) for name, result in ends.items()} == {
        "e-invoice": ("completed", None),
        "disagrees": ("needs_review", "page_and_xml_disagree"),
        "page": ("completed", None),
        "minutes": ("skipped", "not_an_invoice"),
        "locked": ("needs_review", "password_required"),
        "broken": ("needs_review", "unreadable"),
        "empty page": ("needs_review", "no_text_layer"),
        "text": ("skipped", "not_a_document"),
        "note": ("completed", None),
    }
    assert json.loads(ends["e-invoice"].extraction or "")["invoice_number"] == "RE-77"
    assert ends["e-invoice"].reader == "e-invoice/6"
    assert [json.loads(trade)["isin"] for trade in ends["note"].trades] == ["DE0008404005"]
    archived = ends["note"].archive_path
    assert archived is not None
    assert await site.blobs.has_blob(archived)
    assert archived.startswith("archive/sender_email=billing%40shop%2Eexample/received_date=2026-04-02/")
    assert ends["minutes"].archive_path is None


async def test_what_a_review_teaches_reads_the_suppliers_next_invoice(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path
) -> None:
    january, february = DrawnInvoice(month=1), DrawnInvoice(month=2)
    decided = await upload_attachment(site, january.pdf(), message="january")
    await site.intakes.record_attachment(decided)
    await site.leases.finish_document(
        await site.claim_document(),
        DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.FIELDS_MISSING),
    )
    review = Review(action=ReviewAction.CORRECT, version=1, fields=january.expected, api_key_id="00")
    reviews = PgReviews(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    assert await reviews.decide_document("acme", decided.attachment_id, review)
    following = await upload_attachment(site, february.pdf(), message="february")
    settings = worker_settings(
        postgres_url, tmp_path / "blobs", topics.settings.kafka_bootstrap, topics.settings.topic_prefix
    )
    async with running_worker(settings), asyncio.timeout(60):
        # Nobody is told that a lesson was learned.
        while not await site.pool.fetchval("select count(*) from ingestion.layout_template"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await topics.publish([following])
        results = await topics.results_when(lambda found: all_have_results([following], found))
    (result,) = [result for result in results if result.attachment_id == following.attachment_id]
    assert (result.status, result.reader) == ("completed", "layout-rules/7+template/2")
    assert json.loads(result.extraction or "").items() >= february.expected.items()


async def test_two_workers_make_one_document_of_one_content_and_a_result_of_every_attachment(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path
) -> None:
    contents = [CII(number=f"RE-{number}").pdf() for number in range(6)]
    records = []
    for number, content in enumerate(contents):
        # In two mails, and twice in one of them.
        for message, part in ((f"m{number}", "1"), (f"again{number}", "1"), (f"again{number}", "2")):
            records.append(await upload_attachment(site, content, message=message, part=part))
    settings = [
        worker_settings(postgres_url, tmp_path / "blobs", topics.settings.kafka_bootstrap, topics.settings.topic_prefix)
        for _ in range(2)
    ]
    async with AsyncExitStack() as stack:
        for one in settings:
            await stack.enter_async_context(running_worker(one))
        await topics.publish(records)
        await topics.publish(records[:5], ATTACHMENTS_BACKFILL)  # a replay beside it
        results = await topics.results_when(lambda found: all_have_results(records, found))

    assert await site.pool.fetchval("select count(*) from ingestion.document") == len(contents)
    assert await site.pool.fetchval("select count(*) from ingestion.intake") == len(records)
    once_each = {result.event_id: result.attachment_id for result in results}
    assert Counter(once_each.values()) == Counter(record.attachment_id for record in records)
    kept = {row["blob_key"] for row in await site.pool.fetch("select blob_key from ingestion.document")}
    assert [await site.blobs.has_blob(record.blob_key) for record in records] == [
        record.blob_key in kept for record in records
    ]
    assert {result.status for result in results} == {ResultStatus.COMPLETED}


async def test_a_worker_says_how_its_parser_is_confined_and_does_not_start_without_that(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settings(**changed: object) -> WorkerSettings:
        kafka = topics.settings
        return worker_settings(postgres_url, tmp_path / "blobs", kafka.kafka_bootstrap, kafka.topic_prefix, **changed)

    async with running_worker(confined := settings()), httpx.AsyncClient() as client:
        answer = (await client.get(f"http://127.0.0.1:{confined.http_port}/readyz")).json()
    layers = answer["details"]["parser_confinement"]
    assert {name for name, holds in layers.items() if holds} >= REQUIRED_LAYERS.keys()

    monkeypatch.setattr("mailroom_common.parser.processes.has_required_layers", lambda _layers: False)
    with pytest.RaisesGroup(ParserUnconfined):
        await worker.run(settings(), Process("ingestion_worker"))
    async with running_worker(settings(parser_unconfined=True)):
        pass


@contextmanager
def worker_process(environment: dict[str, str], log: Path):  # type: ignore[no-untyped-def]  # a context of Popen
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "ingestion", "worker"], env={**os.environ, **environment}, stdout=file, stderr=file
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _draw_letters_at_heights(count: int) -> bytes:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    text = canvas.beginText()
    text.setFont("Helvetica", 8)
    for number in range(count):
        text.setTextOrigin(40 + number % 500, 20 + number * 780 / count)
        text.textOut("x")
    canvas.drawText(text)
    canvas.save()
    return file.getvalue()


def _build_picture_of_pixels(side: int) -> bytes:
    """A PNG whose header says so many; what follows is as short as its compression allows."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1_000_000))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


async def test_hostile_files_end_with_a_reason_while_good_ones_beside_them_are_filed(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path
) -> None:
    nested = text_page("Invoice within an invoice")
    for depth in range(6):
        writer = PdfWriter(clone_from=BytesIO(text_page(f"Cover {depth}")))
        writer.add_attachment("more.pdf", nested)
        writer.write(file := BytesIO())
        nested = file.getvalue()
    hostile = {
        "40,000 letters at as many heights": _draw_letters_at_heights(40_000),
        "what begins as an IBAN, again and again": text_page("DE12 " * 1000),
        "PDFs in PDFs": nested,
        "a picture that unpacks to gigabytes": _build_picture_of_pixels(60_000),
        "half a file": CII().pdf()[:-3000],
    }
    bad = {
        name: await upload_attachment(site, content, message=name, filename="invoice.pdf")
        for name, content in hostile.items()
    }
    good = [await upload_attachment(site, CII(number=f"RE-{n}").pdf(), message=f"good {n}") for n in range(10)]
    kafka = topics.settings
    settings = worker_settings(
        postgres_url, tmp_path / "blobs", kafka.kafka_bootstrap, kafka.topic_prefix, parser_processes=2, parser_cpu_s=5
    )
    records = [*bad.values(), *good]
    async with running_worker(settings):
        await topics.publish(records)
        results = await topics.results_when(lambda found: all_have_results(records, found))
    by_attachment = {result.attachment_id: result for result in results}
    assert [by_attachment[record.attachment_id].status for record in good] == [ResultStatus.COMPLETED] * 10
    ends = {name: by_attachment[record.attachment_id] for name, record in bad.items()}
    assert {name: (end.status.value, end.reason) for name, end in ends.items()} == {
        # Two that were read whole, and say nothing; of the others a part could not be read.
        "40,000 letters at as many heights": ("skipped", "not_an_invoice"),
        "what begins as an IBAN, again and again": ("skipped", "not_an_invoice"),
        "PDFs in PDFs": ("needs_review", "embedded_files_not_read"),
        "a picture that unpacks to gigabytes": ("needs_review", "unreadable"),
        "half a file": ("needs_review", "unreadable"),
    }


async def test_kill_9_of_a_worker_leaves_no_document_behind(
    site: Ingestion, topics: Topics, postgres_url: str, tmp_path: Path
) -> None:
    records = [
        await upload_attachment(site, CII(number=f"RE-{n}").pdf(), message=f"m{n % 12}", part=str(n)) for n in range(24)
    ]
    environment = {
        "MAILROOM_DATABASE_URL": postgres_url,
        "MAILROOM_BLOB_URL": f"file://{tmp_path / 'blobs'}",
        "MAILROOM_KAFKA_BOOTSTRAP": topics.settings.kafka_bootstrap,
        "MAILROOM_TOPIC_PREFIX": topics.settings.topic_prefix,
        "MAILROOM_DOCUMENT_LEASE_S": "1",
        "MAILROOM_INSTANCE_ID": "worker-0",  # a restart takes its partitions at once
    }
    await topics.publish(records)
    for life in range(2):
        with worker_process(
            {**environment, "MAILROOM_HTTP_PORT": str(free_port())}, tmp_path / f"{life}.log"
        ) as process:
            await _some_more_are_finished(site, 4)
            process.send_signal(signal.SIGKILL)
            process.wait()
    with worker_process({**environment, "MAILROOM_HTTP_PORT": str(free_port())}, tmp_path / "last.log") as process:
        results = await topics.results_when(lambda found: all_have_results(records, found), within_s=90)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 10) == 0

    once_each = {result.event_id: result.attachment_id for result in results}
    assert Counter(once_each.values()) == Counter(record.attachment_id for record in records)
    assert await site.pool.fetchval("select count(*) from ingestion.document where status = 'completed'") == 24
    archived = [file for file in (tmp_path / "blobs" / "archive").rglob("*") if file.is_file()]
    assert len({sha256(file.read_bytes()).digest() for file in archived}) == len(archived) == 24
    assert await site.pool.fetchval("select count(*) from ingestion.outbox") == 0


async def _some_more_are_finished(site: Ingestion, count: int) -> None:
    finished = "select count(*) from ingestion.document where status = 'completed'"
    before = await site.pool.fetchval(finished)
    async with asyncio.timeout(60):
        # Another process's work: there is nothing to wait for but its effect.
        while await site.pool.fetchval(finished) < min(before + count, 20):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
