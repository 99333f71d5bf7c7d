"""What the tests of `DocumentProcessor` share: a document, its readings, and a processor on fakes."""

from collections.abc import Callable
from datetime import timedelta

from ingestion_fakes import NOW, FakeBlobs, FakeLeases, FakeReading, build_trade

from ingestion.domain.document import AttemptPolicy, DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.invoice import Invoice
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript
from ingestion.handlers.archive_document import PDFArchiver
from ingestion.handlers.process_document import DocumentProcessor

PAGE = Transcript.from_rows(["Invoice 1"])
FIELDS = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "1",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "10.00",
}
DONE = Extraction("invoice", FIELDS, 0.9, "reader/1")
TRADES = Extraction("contract_note", {"trades": [build_trade().to_json()]}, 0.97, "trades/1")
RETRIES = AttemptPolicy(max_attempts=3, first_pause=timedelta(seconds=5), longest_pause=timedelta(seconds=60))
Process = Callable[[FakeReading], DocumentProcessor]


def end(leases: FakeLeases) -> DocumentOutcome:
    ((_, outcome),) = leases.finished
    return outcome


def build_processor(leases: FakeLeases, blobs: FakeBlobs, reading: FakeReading) -> DocumentProcessor:
    return DocumentProcessor(
        leases,
        blobs,
        reading.open_readers,
        ExtractionRouter(),
        PDFArchiver(leases, blobs, sources={"gmail": "gmail_push"}, clock=lambda: NOW, retry_pauses_s=()),
        attempts=RETRIES,
        renew_every_s=0.01,
        clock=lambda: NOW,
    )
