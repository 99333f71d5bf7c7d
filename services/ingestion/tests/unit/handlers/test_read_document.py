"""Inputs on which reading went wrong once: what could not be read is never read, and no invoice."""

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from fault_samples import FAULT_SAMPLES

from ingestion.adapters.local_reader import LocalReader
from ingestion.domain.document import DocumentOutcome
from ingestion.extract import evidence_boxes, rule_based
from ingestion.handlers.read_document import read_document
from ingestion.ports.readers import DocumentReaders
from ingestion.readers.document import transcribe_document
from mailroom_common.events import ResultStatus

T = TypeVar("T")

FUNCTIONS = {
    "transcribe_document": transcribe_document,
    "classify_document": rule_based.classify_document,
    "extract_invoice": evidence_boxes.extract_invoice,
}


class ReadersInThisProcess:
    """The same functions without the process around them: these files are our own."""

    async def run_reader(
        self, function: str, source: Path | bytes, decode: Callable[[Any], T], *, arguments: Any = None
    ) -> T:
        content = source if isinstance(source, bytes) else source.read_bytes()  # noqa: ASYNC240  # a small file
        return decode(
            orjson.loads(orjson.dumps(FUNCTIONS[function.partition(":")[2]](BytesIO(content), arguments or {})))
        )


async def read(sample: str) -> DocumentOutcome:
    reader = LocalReader(ReadersInThisProcess())
    readers = DocumentReaders(transcriber=reader, classifier=reader, extractor=reader)
    return (await read_document(readers, FAULT_SAMPLES / sample)).outcome


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ("scan-with-a-little-text/app-stamp.pdf", "no_text_layer"),
        ("scan-with-a-little-text/fax-line.pdf", "no_text_layer"),
        ("scan-with-a-little-text/page-number.pdf", "no_text_layer"),
        ("scan-with-a-little-text/letter-then-scan.pdf", "no_text_layer"),
    ],
)
async def test_what_could_not_be_read_is_never_taken_for_no_invoice(sample: str, reason: str) -> None:
    outcome = await read(sample)
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, reason)


FIELDS = {
    "supplier_name": "Musterbau Nord GmbH",
    "issue_date": "2026-11-03",
    "currency": "EUR",
    "total_gross": "119.00",
}


@pytest.mark.parametrize(
    ("sample", "number"),
    [
        ("invoice-behind-page-30/long.pdf", "RE-84001"),
        ("rotated-page/rotate-90.pdf", "RE-820090"),
        ("rotated-page/rotate-180.pdf", "RE-8200180"),
        ("rotated-page/rotate-270.pdf", "RE-8200270"),
        ("letters-drawn-twice/all.pdf", "RE-83001"),
        ("letters-drawn-twice/headings.pdf", "RE-83002"),
        ("pdf-collection/collection.pdf", "RE-85001"),
    ],
)
async def test_the_invoice_of_each_sample_is_read(sample: str, number: str) -> None:
    outcome = await read(sample)
    extraction: Mapping[str, object] = outcome.extraction or {}
    assert {name: extraction.get(name) for name in FIELDS} == FIELDS
    assert extraction["invoice_number"] == number
    assert outcome.status is ResultStatus.COMPLETED
