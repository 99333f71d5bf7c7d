"""The readers and rules where they really run: in the confined parser process."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from generated_invoices import CII, text_page

from ingestion.adapters.local_reader import READER_MODULES, READER_REASONS, LocalReader
from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.invoice import Invoice, InvoiceLine
from ingestion.domain.transcript import Transcript
from mailroom_common.parser import UnreadableFile
from mailroom_common.parser.answers import AnswerMalformed, decode_answer
from mailroom_common.parser.pool import ParserPool

T = TypeVar("T")
IN_ONE_LOOP = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader() -> AsyncIterator[LocalReader]:
    """One process for all tests here: to start one takes longer than they do."""
    async with (
        ParserPool(preload=READER_MODULES, unreadable_reasons=READER_REASONS) as pool,
        pool.open_document() as document,
    ):
        yield LocalReader(document)


@IN_ONE_LOOP
async def test_an_e_invoice_is_transcribed_classified_and_extracted(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(CII(number="RE-8").pdf())
    transcript = await reader.transcribe_file(file)
    assert transcript.lines
    assert (await reader.classify_transcript(transcript)).document_type == "invoice"
    extraction = await reader.extract_fields(transcript)
    assert (extraction.fields["invoice_number"], extraction.reader, extraction.doubts) == ("RE-8", "e-invoice/6", ())


@IN_ONE_LOOP
async def test_a_page_that_is_no_invoice_has_no_type(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "minutes.pdf"
    file.write_bytes(text_page("Minutes of the meeting"))
    classification = await reader.classify_transcript(await reader.transcribe_file(file))
    assert classification.document_type is None


@IN_ONE_LOOP
async def test_a_readers_reason_comes_through(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "text.pdf"
    file.write_bytes(b"only called .pdf")
    with pytest.raises(UnreadableFile) as refused:
        await reader.transcribe_file(file)
    assert refused.value.reason == "not_a_document"


class TakenOverParser:
    """A process that answers what its file wants."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def run_reader(
        self, function: str, source: Path | bytes, decode: Callable[[Any], T], *, arguments: Any = None
    ) -> T:
        return decode_answer(decode, self._answer)


TRANSCRIPT: dict[str, Any] = Transcript.from_rows(["Invoice  1"]).to_json()
CLASSIFICATION: dict[str, Any] = {"document_type": "invoice", "confidence": 1.0}
EXTRACTION: dict[str, Any] = {
    **CLASSIFICATION,
    "extraction": Invoice(lines=(InvoiceLine(),)).to_json(),
    "reader": "layout-rules/2",
    "doubts": ["total_gross"],
    "review_reason": None,
    "boxes": [["total_gross", 0, 40, 100, 50, 10.5]],
}
NESTED: dict[str, Any] = {}
for _ in range(300):
    NESTED = {"in": NESTED}


async def test_answers_in_our_form_are_taken() -> None:
    assert (await LocalReader(TakenOverParser(TRANSCRIPT)).transcribe_file(Path("any"))).text == "Invoice 1"
    for document_type in ("invoice", "credit_note", "corrected_invoice", None):
        reader = LocalReader(TakenOverParser({**CLASSIFICATION, "document_type": document_type}))
        assert (await reader.classify_transcript(Transcript("application/pdf", 1))).document_type == document_type
    extraction = await LocalReader(TakenOverParser(EXTRACTION)).extract_fields(Transcript("application/pdf", 1))
    assert extraction.doubts == ("total_gross",)
    assert extraction.review_reason is None
    assert extraction.boxes == (EvidenceBox("total_gross", 0, 40, 100, 50, 10.5),)


@pytest.mark.parametrize(
    "answer",
    [
        *(None, 5, [], {}, {"lines": 5}, {"lines": [[1, 2]]}, {"lines": [[1, 2, 3, ["x"]]]}),
        {**TRANSCRIPT, "content_type": None},
        {**TRANSCRIPT, "pages": "many"},
        {**TRANSCRIPT, "e_invoice": "text"},
        {**TRANSCRIPT, "e_invoice": NESTED},
        {**TRANSCRIPT, "lines": [[1, 2, 3, [[{}, 1, 2]]]]},
    ],
)
async def test_a_transcript_of_another_form_is_malformed(answer: Any) -> None:
    with pytest.raises(AnswerMalformed, match="another shape"):
        await LocalReader(TakenOverParser(answer)).transcribe_file(Path("any"))


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {**CLASSIFICATION, "document_type": {}}, {**CLASSIFICATION, "confidence": 1e9}],
)
async def test_a_classification_of_another_form_is_malformed(answer: Any) -> None:
    with pytest.raises(AnswerMalformed, match="another shape"):
        await LocalReader(TakenOverParser(answer)).classify_transcript(Transcript("application/pdf", 1))


def change_fields(**changed: Any) -> dict[str, Any]:
    return {**EXTRACTION, "extraction": {**EXTRACTION["extraction"], **changed}}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        CLASSIFICATION,
        {**EXTRACTION, "document_type": None},
        {**EXTRACTION, "confidence": None},
        {**EXTRACTION, "reader": "x" * 1000},
        {**EXTRACTION, "doubts": [{}]},
        {**EXTRACTION, "doubts": "text"},
        {**EXTRACTION, "review_reason": "text"},
        {**EXTRACTION, "boxes": [["surplus", 0, 40, 100, 50, 10.5]]},
        {**EXTRACTION, "boxes": [["iban", 0, 40, 100, 50, "far"]]},
        {**EXTRACTION, "boxes": [["iban", 0, 40, 100, 50, 10.5]] * 401},
        {**EXTRACTION, "extraction": {**EXTRACTION["extraction"], "page_values": {"iban": 5}}},
        {**EXTRACTION, "extraction": {**EXTRACTION["extraction"], "page_values": {"other": "text"}}},
        change_fields(page_totals={"iban": "text"}),
        change_fields(page_totals={"total_gross": "much"}),
        change_fields(page_marks="text"),
        change_fields(page_marks={"struck_out": ["x" * 1000]}),
        change_fields(page_marks={"struck_out": [5]}),
        change_fields(page_marks={"other": ["text"]}),
        change_fields(page_marks={"is_crossed_out": "text"}),
        {**EXTRACTION, "extraction": []},
        change_fields(surplus="text"),
        change_fields(supplier_name={}),
        change_fields(total_gross="much"),
        change_fields(issue_date="today"),
        change_fields(lines=None),
        change_fields(lines=[{}]),
        change_fields(lines=[{**InvoiceLine().to_json(), "description": []}]),
    ],
)
async def test_an_extraction_of_another_form_is_malformed(answer: Any) -> None:
    with pytest.raises(AnswerMalformed, match="another shape"):
        await LocalReader(TakenOverParser(answer)).extract_fields(Transcript("application/pdf", 1))
