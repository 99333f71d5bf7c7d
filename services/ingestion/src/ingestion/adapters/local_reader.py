"""Transcribing, classifying and extracting without a network, by our own readers and rules in the parser process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ingestion.adapters.reader_runner import ReaderRunner, require_agreed
from ingestion.adapters.template_reader import LocalTemplateReader
from ingestion.domain.evidence import MAX_BOXES, EvidenceBox
from ingestion.domain.invoice import DOCUMENT_TYPES, PAGE_TOTALS, TOTAL_FIELDS, Invoice, InvoiceLine
from ingestion.domain.page_marks import MAX_MARK_LETTERS, MAX_MARKS, PAGE_MARKS
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.trade import TRADE_DOCUMENT_TYPES, TRADE_FIELDS, Trade
from ingestion.domain.transcript import Transcript
from ingestion.ports.readers import DocumentReaders
from mailroom_common.events import Profile
from mailroom_common.parser.pool import ParserPool

# Imported before the parser processes are forked and confined: what a reader loads cannot depend on a file.
READER_MODULES = (
    "ingestion.readers.document",
    "ingestion.extract.rule_based",
    "ingestion.extract.trades.note",
    "ingestion.extract.evidence_boxes",
    "ingestion.extract.page_evidence",
    "ingestion.extract.template_reading",
    "ingestion.extract.trade_evidence",
)
READER_REASONS = frozenset([*DocumentSkipReason, *ReviewReason])

_INVOICE_FIELDS, _LINE_FIELDS = Invoice().to_json().keys(), InvoiceLine().to_json().keys()
_FIELDS_WITH_BOXES = frozenset({*_INVOICE_FIELDS, *TRADE_FIELDS})
_MAX_NAME_CHARACTERS = 100  # of a reader, of a field

T = TypeVar("T")


@asynccontextmanager
async def open_local_readers(pool: ParserPool, profile: Profile = Profile.INVOICE) -> AsyncIterator[DocumentReaders]:
    """The readers for one document, in a process that ends with the block."""
    # Documents are claimed in turn by tenant, and no more at once than there are processes: nobody waits here.
    async with pool.open_document() as parser:
        reader = LocalReader(parser)
        if profile is Profile.CONTRACT_NOTE:
            notes = LocalNoteReader(parser)
            yield DocumentReaders(transcriber=reader, classifier=notes, extractor=notes)
        else:
            yield DocumentReaders(
                transcriber=reader, classifier=reader, extractor=reader, templates=LocalTemplateReader(parser)
            )


class LocalReader:
    """`Transcriber`, `DocumentClassifier` and `FieldExtractor` in one: the same process and rules serve all three."""

    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
        return await self._parser.run_reader(
            "ingestion.readers.document:transcribe_document",
            file,
            _decode_transcript,
            arguments={"password": password},
        )

    async def classify_transcript(self, transcript: Transcript) -> Classification:
        return await self._parser.run_reader(
            "ingestion.extract.rule_based:classify_document", orjson.dumps(transcript.to_json()), _decode_classification
        )

    async def extract_fields(self, transcript: Transcript) -> Extraction:
        return await self._parser.run_reader(
            "ingestion.extract.evidence_boxes:extract_invoice", orjson.dumps(transcript.to_json()), _decode_extraction
        )


class LocalNoteReader:
    """`DocumentClassifier` and `FieldExtractor` for documents of banks and brokers: their trades."""

    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def classify_transcript(self, transcript: Transcript) -> Classification:
        return await self._parser.run_reader(
            "ingestion.extract.trades.note:classify_note", orjson.dumps(transcript.to_json()), _decode_note_type
        )

    async def extract_fields(self, transcript: Transcript) -> Extraction:
        return await self._parser.run_reader(
            "ingestion.extract.evidence_boxes:extract_trades", orjson.dumps(transcript.to_json()), _decode_trades
        )


def _decode_transcript(answer: Any) -> Transcript:
    transcript = Transcript.from_json(answer)
    require_agreed(isinstance(transcript.content_type, str) and isinstance(transcript.pages, int))
    require_agreed(transcript.e_invoice is None or isinstance(transcript.e_invoice, dict))
    orjson.dumps(transcript.e_invoice)  # the next reader is given it
    require_agreed(all(isinstance(cell.text, str) for line in transcript.lines for cell in line.cells))
    pages = (*transcript.pictured_pages, *transcript.part_starts)
    require_agreed(all(isinstance(page, int) and page >= 0 for page in pages))
    require_agreed(isinstance(transcript.has_unread_files, bool))
    return transcript


def _decode_classification(answer: Any) -> Classification:
    document_type = answer["document_type"]
    require_agreed(document_type is None or document_type in DOCUMENT_TYPES)
    return Classification(document_type, _decode_confidence(answer["confidence"]))


def _decode_extraction(answer: Any) -> Extraction:
    fields, doubts = dict(answer["extraction"]), answer["doubts"]
    page_values, page_totals = fields.pop("page_values", {}), fields.pop(PAGE_TOTALS, {})
    _require_marks(fields.pop(PAGE_MARKS, {}))
    require_agreed(answer["document_type"] in DOCUMENT_TYPES and _is_short_text(answer["reader"]))
    require_agreed(isinstance(doubts, list) and all(map(_is_short_text, doubts)))
    lines = fields["lines"]
    require_agreed(fields.keys() == _INVOICE_FIELDS and isinstance(lines, list))
    require_agreed(all(line.keys() == _LINE_FIELDS for line in lines))
    require_agreed(page_values.keys() <= _INVOICE_FIELDS and page_totals.keys() <= set(TOTAL_FIELDS))
    parts = ({**fields, "lines": None}, page_values, page_totals, *lines)
    require_agreed(all(value is None or isinstance(value, str) for part in parts for value in part.values()))
    # Routing and reviews ask this too, and must not fail then.
    for totals in (fields, {**fields, **page_totals}):
        Invoice.from_json(totals).totals_add_up()
    return Extraction(
        answer["document_type"],
        answer["extraction"],
        _decode_confidence(answer["confidence"]),
        answer["reader"],
        tuple(doubts),
        _decode_review_reason(answer["review_reason"]),
        boxes=_decode_boxes(answer),
    )


def _require_marks(value: Any) -> None:
    """Short texts, and not more of them than a person looks at."""
    require_agreed(isinstance(value, dict) and value.get("is_crossed_out", True) is True)
    lists = {name: texts for name, texts in value.items() if name != "is_crossed_out"}
    require_agreed(lists.keys() <= {"struck_out", "stamps", "comments"})
    for texts in lists.values():
        require_agreed(isinstance(texts, list) and len(texts) <= MAX_MARKS)
        require_agreed(all(isinstance(text, str) and len(text) <= MAX_MARK_LETTERS for text in texts))


def _decode_review_reason(value: Any) -> ReviewReason | None:
    return None if value is None else ReviewReason(value)


def _decode_note_type(answer: Any) -> Classification:
    document_type = answer["document_type"]
    require_agreed(document_type is None or document_type in TRADE_DOCUMENT_TYPES)
    return Classification(document_type, _decode_confidence(answer["confidence"]))


def _decode_trades(answer: Any) -> Extraction:
    fields, doubts = dict(answer["extraction"]), answer["doubts"]
    marks = fields.pop(PAGE_MARKS, {})
    _require_marks(marks)
    require_agreed(answer["document_type"] in TRADE_DOCUMENT_TYPES and _is_short_text(answer["reader"]))
    require_agreed(isinstance(doubts, list) and all(map(_is_short_text, doubts)))
    require_agreed(fields.keys() == {"trades"} and isinstance(fields["trades"], list))
    for trade in fields["trades"]:
        require_agreed(trade.keys() == set(TRADE_FIELDS) and isinstance(trade["is_cancellation"], bool))
        require_agreed(all(value is None or isinstance(value, str | bool) for value in trade.values()))
        Trade.from_json(trade).adds_up()  # routing asks this too, and must not fail then
    return Extraction(
        answer["document_type"],
        fields | ({PAGE_MARKS: marks} if marks else {}),
        _decode_confidence(answer["confidence"]),
        answer["reader"],
        tuple(doubts),
        _decode_review_reason(answer["review_reason"]),
        boxes=_decode_boxes(answer),
    )


def _decode_boxes(answer: Any) -> tuple[EvidenceBox, ...]:
    require_agreed(len(answer["boxes"]) <= MAX_BOXES)
    boxes = tuple(map(EvidenceBox.from_list, answer["boxes"]))
    require_agreed(all(box.field.rpartition(".")[2] in _FIELDS_WITH_BOXES for box in boxes))
    return boxes


def _decode_confidence(value: Any) -> float:
    confidence = float(value)
    require_agreed(0 <= confidence <= 1)
    return confidence


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_NAME_CHARACTERS
