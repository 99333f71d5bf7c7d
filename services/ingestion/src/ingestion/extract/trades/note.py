"""The trades of a document: parted into what speaks of each, read one by one, and what the document is."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, islice, pairwise, takewhile
from typing import Any, BinaryIO

import orjson

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE
from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.layout_rules import cut_lines
from ingestion.extract.ocr_certainty import find_uncertain_trade_values, was_read_by_ocr
from ingestion.extract.page_marks import find_doubt_of_marks, show_marks
from ingestion.extract.titles import kind_words
from ingestion.extract.titles.document_kind import (
    DocumentKind,
    find_title,
)
from ingestion.extract.trades.columns import Columns
from ingestion.extract.trades.day_order import determine_day_first, may_be_dollar_of_other_country
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import MAX_LINES, ReadLine, read_lines
from ingestion.extract.trades.mixed_costs import has_column_of_both
from ingestion.extract.trades.named_above import forget_what_stands_above
from ingestion.extract.trades.named_days import begins_with_other_day
from ingestion.extract.trades.no_trade import (
    has_valuation_title,
    is_read_as_trade,
    names_income,
    says_side_alone,
)
from ingestion.extract.trades.numbers import DOLLARS
from ingestion.extract.trades.other_securities import drop_isin_of_other
from ingestion.extract.trades.paper_doubts import find_paper_doubts
from ingestion.extract.trades.plain_letters import restore_letters
from ingestion.extract.trades.row_side import says_not_done
from ingestion.extract.trades.row_trades import read_row_trades
from ingestion.extract.trades.rows import find_product_rows
from ingestion.extract.trades.said_payments import says_other_payment
from ingestion.extract.trades.sections import (
    Section,
    SectionKind,
    find_sections,
    is_table_head,
    list_lines_without_trades,
)
from ingestion.extract.trades.security import (
    find_reference,
    has_several_accounts,
    list_isins,
    list_other_isins,
)
from ingestion.extract.trades.shared_facts import SharedFacts, find_shared_facts
from ingestion.extract.trades.side import find_direction
from ingestion.extract.trades.surer_readings import choose_single, holds_together
from ingestion.extract.trades.taken_back import ReplacedNote, build_cancellation, find_replaced_note
from ingestion.extract.trades.time_of_dealing import names_other_day_of_dealing
from ingestion.extract.trades.trade import TradeReading, read_trade
from ingestion.extract.trades.trade_papers import begins_trade, may_have_trades
from ingestion.extract.trades.unfilled_orders import says_nothing_filled
from ingestion.extract.trades.unread_rows import list_unread_rows
from ingestion.extract.trades.whose_side import doubt_side
from mailroom_common.parser import JSON

TRADE_READER = "trade-rules/8"
OCR_TRADE_READER = "ocr+trade-rules/8"

_SEVERAL = 2  # trades that hold together by themselves
_CERTAIN = 0.9
_MAX_TRADES = 200
_MAX_BLOCK = 60  # lines of one trade


@dataclass(frozen=True, slots=True)
class NoteReading:
    """`has_trades` False: the document has none, and says so by what it is. `doubts` is what the trades do not account
    for: what `find_paper_doubts` says; `trades` also for securities and rows that none of them is in; `lines`, more
    text than is read; `unfilled`, an order that was perhaps not carried out."""

    document_type: str
    trades: tuple[TradeReading, ...]
    has_trades: bool
    doubts: tuple[str, ...]

    @property
    def confidence(self) -> float:
        return min((reading.confidence for reading in self.trades), default=0.0)


def classify_note(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`document_type` is null for what has no trade, and says so by what it is."""
    reading = _read_transcript(file.read())
    return {
        "document_type": reading.document_type if reading.has_trades else None,
        "confidence": reading.confidence if reading.has_trades else 0.9,
    }


def extract_trades(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`review_reason`: OCR was not certain of what it read, or somebody marked the page."""
    content = file.read()
    reading, transcript = _read_transcript(content), _parse_transcript(content)
    is_ocr = was_read_by_ocr(transcript)
    is_uncertain = is_ocr and any(find_uncertain_trade_values(found.trade, transcript) for found in reading.trades)
    doubt = find_doubt_of_marks(transcript) or (ReviewReason.OCR_UNCERTAIN if is_uncertain else None)
    trades = [found.trade.to_json() for found in reading.trades]
    return {
        "document_type": reading.document_type,
        "extraction": {"trades": trades, **show_marks(transcript)},
        "confidence": reading.confidence if doubt is None else min(reading.confidence, 0.5),
        "doubts": list(reading.doubts),
        "review_reason": doubt,
        "reader": OCR_TRADE_READER if is_ocr else TRADE_READER,
    }


@lru_cache(maxsize=1)  # a process reads one document: it is classified, and its trades are extracted
def _read_transcript(content: bytes) -> NoteReading:
    return read_note(_parse_transcript(content).lines)


@lru_cache(maxsize=1)
def _parse_transcript(content: bytes) -> Transcript:
    return Transcript.from_json(orjson.loads(content))


def read_note(text: Sequence[TextLine]) -> NoteReading:
    page = restore_letters(cut_lines(text[:MAX_LINES]))
    day_first = determine_day_first(page)
    lines, other_groups = read_lines(page, day_first)
    reading = _read_lines(page, lines, is_cut=len(text) > MAX_LINES)
    if other_groups is None or reading.confidence >= _CERTAIN or holds_together(reading.trades):
        return reading
    # `12 171,50` are twelve shares at 171.50 where columns are lost, or thousands: what holds together decides.
    lines, _ = read_lines(page, day_first, other_groups)
    other = _read_lines(page, lines, is_cut=len(text) > MAX_LINES)
    return max(reading, other, key=lambda found: (found.has_trades, found.confidence, len(found.trades)))


def _read_lines(page: Sequence[TextLine], lines: Sequence[ReadLine], *, is_cut: bool) -> NoteReading:
    shared = find_shared_facts(lines)
    kind = find_title(page)
    if kind is None and has_valuation_title(page):
        kind = DocumentKind.ACTIVITY_STATEMENT
    readings = _read_trades(lines, shared, kind)
    is_dealt_before = len(readings) == 1 and names_other_day_of_dealing(lines, readings[0].trade.trade_date)
    if begins_with_other_day(lines) or is_dealt_before:
        readings = [replace(reading, is_date_certain=False) for reading in readings]
    if len(readings) == 1 and says_other_payment(lines, readings[0].trade):
        readings = [replace(readings[0], is_settlement_proven=False)]
    if has_column_of_both(lines):
        readings = list(map(_forget_costs, readings))
    document_type = ACTIVITY_STATEMENT if kind is DocumentKind.ACTIVITY_STATEMENT else CONTRACT_NOTE
    if not is_cut and not may_have_trades(page, lines, kind, readings):
        if kind is not DocumentKind.ACTIVITY_STATEMENT or (inside := _find_note_inside(lines, shared)) is None:
            return NoteReading(document_type, (), has_trades=False, doubts=())
        document_type, readings = CONTRACT_NOTE, [inside]
    dollar = _find_dollar(lines)
    is_open = may_be_dollar_of_other_country(page)
    isins = list_isins(lines)
    readings = [_name_dollar(_name_security(reading, isins), dollar, is_open=is_open) for reading in readings]
    if len(readings) > 1 and has_several_accounts(lines):
        readings = [replace(found, trade=replace(found.trade, account=None)) for found in readings]
    is_statement = document_type == ACTIVITY_STATEMENT
    if not is_statement:
        readings = [drop_isin_of_other(doubt_side(reading, lines), lines) for reading in readings]
    replaced = find_replaced_note(lines) if _makes_trades(readings) else None
    if replaced is not None and not is_statement and len(readings) == 1:
        readings = _add_note_replaced(readings[0], lines, replaced)
    doubts = [
        *find_paper_doubts(page, lines, readings, is_statement=is_statement),
        *(["corrected"] if replaced is not None else []),
        *_find_doubts(readings, lines, shared.columns, is_statement=is_statement),
        *(["lines"] if is_cut else []),
        *(["unfilled"] if not is_statement and _may_be_unfilled(lines, readings) else []),
    ]
    return NoteReading(document_type, tuple(readings), True, tuple(doubts))


def _read_trades(lines: Sequence[ReadLine], shared: SharedFacts, kind: DocumentKind | None) -> list[TradeReading]:
    """Of the parts that begin with a trade, of rows, or of the document as a whole."""
    sections = find_sections(lines)
    blocks = _find_blocks(lines, kind)[:_MAX_TRADES]
    readings = [
        _doubt_taken_back(read_trade(block, shared), block[0], sections[block[0].index - lines[0].index])
        for block in blocks
    ]
    readings = forget_what_stands_above(readings, blocks, lines)
    if sum(reading.is_solved for reading in readings) >= _SEVERAL:
        return readings
    if rows := read_row_trades(lines, shared, is_statement=kind is DocumentKind.ACTIVITY_STATEMENT):
        return rows
    # The numbers of a whole statement have nothing to do with each other.
    if kind is DocumentKind.ACTIVITY_STATEMENT:
        return readings
    if parts := _read_parts_of_securities(lines, shared):
        return parts
    return [choose_single(read_trade(lines, shared), readings)]


def _doubt_taken_back(reading: TradeReading, row: ReadLine, section: Section) -> TradeReading:
    """What a statement lists as cancelled is no new trade."""
    is_doubted = section.kind is SectionKind.TAKEN_BACK or says_not_done(row)
    return replace(reading, is_direction_certain=False) if is_doubted else reading


def _read_parts_of_securities(lines: Sequence[ReadLine], shared: SharedFacts) -> list[TradeReading]:
    """Of a document that says once what was done, `Purchases of funds`, and then lists securities: a trade for each.

    None, unless each of them holds together by itself.
    """
    starts = [line.index for line in lines if _names_one_security(line)]
    if not _SEVERAL <= len(starts) <= _MAX_TRADES or len(list_isins(lines)) != len(starts):
        return []
    direction, is_certain = find_direction(lines)
    ends = [*(start - 1 for start in starts[1:]), len(lines)]  # the name stands above the number
    parts = [lines[max(0, start - 1) : min(end, start + _MAX_BLOCK)] for start, end in zip(starts, ends, strict=True)]
    if direction is None or any(map(names_income, parts)):
        return []
    readings = [read_trade(part, shared) for part in parts]
    if not all(reading.is_solved for reading in readings):
        return []
    return [
        replace(
            reading,
            trade=replace(reading.trade, direction=reading.trade.direction or direction),
            is_direction_certain=reading.is_direction_certain or is_certain,
        )
        for reading in readings
    ]


def _names_one_security(line: ReadLine) -> bool:
    return any(place.label is Label.ISIN for place in line.labels) and len(list_isins([line])) == 1


def _find_note_inside(lines: Sequence[ReadLine], shared: SharedFacts) -> TradeReading | None:
    """The one trade of what is called a statement and lists none: its fields stand there as on a note.

    Of what names balances the numbers have nothing to do with each other, unless all of a trade was found. A row of
    what is held may be what was read: then a person sees it.
    """
    for part in _list_parts(lines, list_lines_without_trades(lines)):
        found = read_trade(part, shared)
        if not found.is_product_proven or (not is_read_as_trade(part, [found]) and not says_side_alone(part)):
            continue
        if found.trade.list_missing_fields() and any(kind_words.BALANCE.search(line.text) for line in lines):
            continue
        rows = {(row.quantity, row.price) for row in find_product_rows(part)}
        return replace(found, is_product_proven=rows <= {(found.trade.quantity, found.trade.price)})
    return None


def _list_parts(lines: Sequence[ReadLine], without: Container[int]) -> Iterator[Sequence[ReadLine]]:
    """The lines that stand together and are none of those."""
    for is_without, part in groupby(lines, lambda line: line.index in without):
        if not is_without:
            yield list(part)


def _find_blocks(lines: Sequence[ReadLine], kind: DocumentKind | None) -> list[Sequence[ReadLine]]:
    """The lines from each that begins a trade to the next one that does, or to a section that has none."""
    without_trades = sorted(list_lines_without_trades(lines)) if kind is DocumentKind.ACTIVITY_STATEMENT else []
    starts = [
        line.index
        for position, line in enumerate(lines)
        if line.index not in without_trades and begins_trade(line, kind) and not _begins_list(lines[position:])
    ]
    blocks = []
    for start, end in pairwise([*starts, len(lines)]):
        section = next((index for index in without_trades if start < index < end), end)
        blocks.append(lines[start : min(section, start + _MAX_BLOCK)])
    return blocks


def _begins_list(lines: Sequence[ReadLine]) -> bool:
    """Whether the first line is the heading of several rows of one table, each with its day: `Käufe`."""
    if lines[0].numbers or lines[0].dates or not (len(lines) > 1 and is_table_head(lines[1])):
        return False
    rows = takewhile(lambda line: line.dates and line.dates[0].start == 0 and len(line.numbers) > 1, lines[2:])
    return len(list(islice(rows, _SEVERAL))) == _SEVERAL


def _may_be_unfilled(lines: Sequence[ReadLine], readings: Sequence[TradeReading]) -> bool:
    """Whether the one order that a paper names was perhaps not carried out: what it would have cost is no proof."""
    is_single = len(readings) == 1 and not readings[0].is_settlement_proven
    return is_single and says_nothing_filled(line.text for line in lines)


def _name_security(reading: TradeReading, isins: Sequence[str]) -> TradeReading:
    """A trade whose own lines name no security, in a document that names one only."""
    if reading.trade.isin is None and len(isins) == 1:
        return replace(reading, trade=replace(reading.trade, isin=isins[0]))
    return reading


def _makes_trades(readings: Sequence[TradeReading]) -> bool:
    return bool(readings) and not any(reading.trade.is_cancellation for reading in readings)


def _add_note_replaced(reading: TradeReading, lines: Sequence[ReadLine], replaced: ReplacedNote) -> list[TradeReading]:
    """With the trade of the note in whose place this one stands: that is taken back."""
    own = reading.trade.reference
    if own is not None and own == replaced.number:
        # The sentence that names the other note says no number of this one.
        rest = [line for line in lines if line.index not in (replaced.line, replaced.line + 1)]
        own = find_reference(rest)
    made = replace(reading.trade, reference=own)
    return [
        replace(reading, trade=made),
        replace(reading, trade=build_cancellation(made, replaced.number)),
    ]


def _name_dollar(reading: TradeReading, dollar: str | None, *, is_open: bool) -> TradeReading:
    """`is_open`: no line says whose dollar it is, and the note is perhaps none of the United States."""
    if reading.trade.currency != "USD" or (dollar is None and not is_open):
        return reading
    return replace(reading, trade=replace(reading.trade, currency=dollar))


def _forget_costs(reading: TradeReading) -> TradeReading:
    return replace(reading, trade=replace(reading.trade, fees=None, taxes=None), is_settlement_proven=False)


def _find_dollar(lines: Sequence[ReadLine]) -> str | None:
    """Whose dollar `$` is, in a document that names one only, and not that of the United States."""
    named = {match[0] for line in lines for match in _DOLLARS.finditer(line.text)}
    return named.pop() if len(named) == 1 and not named & {"USD", "US$"} else None


_DOLLARS = re.compile(rf"\b(?:{'|'.join(sorted(DOLLARS))})\b|US\$")


def _find_doubts(
    readings: Sequence[TradeReading], lines: Sequence[ReadLine], columns: Columns, *, is_statement: bool
) -> list[str]:
    """What the document says that the trades do not account for."""
    named = {reading.trade.isin for reading in readings}
    without_trades = list_lines_without_trades(lines) if is_statement else frozenset()
    isins = list_isins([line for line in lines if line.index not in without_trades])
    others = {number for line in lines for number in list_other_isins(line)}
    unread = [number for number in isins if number not in named and number not in others]
    if (unread and len(readings) < len(isins)) or len(readings) >= _MAX_TRADES:
        return ["trades"]
    trades = [reading.trade for reading in readings]
    return ["trades"] if list_unread_rows(lines, columns, trades, is_statement=is_statement) else []
