"""Templates where they really are read and learned: in the confined parser process."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from template_fakes import DirectRunner, DrawnInvoice

from ingestion.adapters.local_reader import READER_MODULES, READER_REASONS, LocalReader
from ingestion.adapters.template_reader import LocalTemplateReader
from ingestion.domain.document import DocumentId
from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import Lesson, StoredTemplate, TemplateId
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript
from ingestion.readers.document import transcribe_document
from mailroom_common.parser.answers import AnswerMalformed, decode_answer
from mailroom_common.parser.pool import ParserPool

T = TypeVar("T")

GENERAL = Extraction("invoice", Invoice(total_gross=None, currency="EUR").to_json(), 0.1, "layout-rules/2")
JANUARY = DrawnInvoice(month=1)
LESSON = Lesson(
    document_id=DocumentId("d1"),
    tenant_id="acme",
    version=2,
    blob_key="blob",
    content_sha256="",
    document_type="invoice",
    fields={**Invoice().to_json(), **JANUARY.expected},
)


async def test_a_template_is_learned_and_used_in_the_parser_process(tmp_path: Path) -> None:
    files = [tmp_path / "january.pdf", tmp_path / "february.pdf"]
    files[0].write_bytes(JANUARY.pdf())
    files[1].write_bytes(DrawnInvoice(month=2).pdf())
    async with (
        ParserPool(preload=READER_MODULES, unreadable_reasons=READER_REASONS) as pool,
        pool.open_document() as document,
    ):
        reader, templates = LocalReader(document), LocalTemplateReader(document)
        january, february = [await reader.transcribe_file(file) for file in files]
        assert await templates.measure_layout(january)
        learned = await templates.learn_template(january, LESSON, None)
        assert learned is not None
        stored = StoredTemplate(TemplateId("t1"), learned)
        extraction = await templates.read_by_templates(february, GENERAL, [stored])
    assert extraction is not None
    assert extraction.fields["total_gross"] == DrawnInvoice(month=2).expected["total_gross"]
    assert extraction.fields["template"]["id"] == "t1"


class AnsweringRunner:
    """A process that answers what its file wants."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def run_reader(self, function: str, source: Path | bytes, decode: Callable[[Any], T], **_: Any) -> T:
        return decode_answer(decode, self._answer)


READING = {
    "number": 0,
    "extraction": {**GENERAL.fields, "total_gross": "19.00"},
    "used": ["total_gross"],
    "disputed": {},
    "boxes": [["total_gross", 0, 430.0, 200.0, 40.0, 10.0]],
    "confidence": 0.9,
}


async def read(answer: Any, general: Extraction = GENERAL) -> Extraction | None:
    learned = await LocalTemplateReader(DirectRunner()).learn_template(_january(), LESSON, None)
    assert learned is not None
    templates = LocalTemplateReader(AnsweringRunner(answer))
    return await templates.read_by_templates(_january(), general, [StoredTemplate(TemplateId("t1"), learned)])


def _january() -> Transcript:
    return Transcript.from_json(orjson.loads(orjson.dumps(transcribe_document(BytesIO(JANUARY.pdf()), {}))))


async def test_what_a_sum_speaks_against_is_shown_beside_and_a_person_decides() -> None:
    extraction = await read({**READING, "disputed": {"total_net": "18.00"}})
    assert extraction is not None
    assert (extraction.review_reason, extraction.confidence) == (ReviewReason.READERS_DISAGREE, 0.5)
    assert [box.field for box in extraction.boxes] == ["total_gross"]
    assert extraction.fields["template_values"] == {"total_net": "18.00"}


@pytest.mark.parametrize(
    ("changed", "is_settled"),
    [
        ({}, True),
        ({"supplier_name": "Somebody Else Ltd"}, False),
        ({"supplier_name": None}, False),
        ({"iban": "DE89370400440532013000"}, False),
    ],
)
async def test_a_layout_that_a_person_has_seen_says_whose_invoice_it_is_though_it_fills_nothing(
    changed: dict[str, Any], is_settled: bool
) -> None:
    """An invoice without an account would otherwise be for a person each time (ADR 78)."""
    fields = {**Invoice().to_json(), **JANUARY.expected, "iban": None, **changed}
    one_sign = Extraction("invoice", fields, 0.6, "layout-rules/2", review_reason=ReviewReason.SUPPLIER_UNCERTAIN)
    extraction = await read({**READING, "extraction": fields, "used": [], "boxes": []}, one_sign)
    assert extraction is not None
    assert extraction.review_reason is (None if is_settled else ReviewReason.SUPPLIER_UNCERTAIN)
    assert extraction.confidence == (0.9 if is_settled else 0.6)
    assert ("template" in extraction.fields) is is_settled


@pytest.mark.parametrize(
    "changed",
    [
        {"number": 1},
        {"number": -1},
        {"used": []},
        {"used": ["total_gross", "lines"]},
        {"extraction": {**GENERAL.fields, "total_gross": "much"}},
        {"extraction": {**GENERAL.fields, "total_gross": "19.00", "more": "1"}},
        {"disputed": {"total_net": ["1"]}},
        {"boxes": [["total_gross", 0, 430.0, 200.0, 40.0]]},
        {"boxes": [["more", 0, 430.0, 200.0, 40.0, 10.0]]},
        {"confidence": 2},
    ],
)
async def test_an_answer_that_our_reader_does_not_give_is_a_crash(changed: dict[str, Any]) -> None:
    with pytest.raises(AnswerMalformed):
        await read({**READING, **changed})
