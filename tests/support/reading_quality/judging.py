"""One reading held against the known values of its document, field by field. Pure: no file is opened here."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

_AMOUNTS = ("total_gross", "total_net", "total_tax", "amount_due")
_CODES = ("vat_id", "iban")
FIELDS = (
    "supplier_name",
    "invoice_number",
    "issue_date",
    "due_date",
    "currency",
    *_AMOUNTS[:3],
    *_CODES,
    "lines",
    "amount_due",
)
_LEGAL_FORM = re.compile(
    r"\b(?:gmbh|mbh|ag|kg|ohg|ug|ltd|limited|llc|inc|corp|plc|sarl|sas|sa|bv|nv|srl|spa|sl|lda|aps|ab|as|sro|spzoo)\b"
)


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    MISSING = "missing"  # the document says it, and nothing was read


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one document. `verdicts` has the fields whose values are known."""

    verdicts: Mapping[str, Verdict]
    status: str
    reason: str | None
    confidence: float | None
    document_type_is_right: bool | None

    @property
    def is_wrong_but_completed(self) -> bool:
        return self.status == "completed" and Verdict.WRONG in self.verdicts.values()

    def count(self, verdict: Verdict) -> int:
        return sum(found is verdict for found in self.verdicts.values())


def judge_reading(
    expected: Mapping[str, Any], reading: Mapping[str, Any], *, document_type: str | None = None
) -> Judgement:
    """`expected` has the values that a reader could have found, None where nothing is known of a field."""
    read = reading.get("extraction") or {}
    verdicts = {
        field: judge_field(field, expected[field], read.get(field))
        for field in FIELDS
        if expected.get(field) not in (None, [])
    }
    found_type = reading.get("document_type")
    return Judgement(
        verdicts,
        reading["status"],
        reading.get("reason"),
        reading.get("confidence"),
        None if document_type is None or found_type is None else document_type == found_type,
    )


def judge_field(field: str, expected: Any, read: Any) -> Verdict:
    if read is None or read == []:
        return Verdict.MISSING
    if field == "lines":
        return _judge_lines(expected, read)
    is_same = (
        _compare_names(expected, read)
        if field == "supplier_name"
        else _normalize(field, expected) == _normalize(field, read)
    )
    return Verdict.RIGHT if is_same else Verdict.WRONG


def _judge_lines(expected: Sequence[Mapping[str, Any]], read: Sequence[Mapping[str, Any]]) -> Verdict:
    """All lines with their amounts, in order. A line that is left out, or one too many, is another invoice."""
    amounts = [[_parse_amount(line.get("amount")) for line in lines] for lines in (expected, read)]
    return Verdict.RIGHT if amounts[0] == amounts[1] else Verdict.WRONG


def _compare_names(expected: str, read: str) -> bool:
    """A name with or without its legal form, in capitals or not, is the same name."""
    return _fold_name(expected) == _fold_name(read)


def _fold_name(name: str) -> str:
    folded = re.sub(r"[^\w\s]", "", name.lower())
    return re.sub(r"\s", "", _LEGAL_FORM.sub("", folded)) or re.sub(r"\s", "", folded)


def _normalize(field: str, value: Any) -> Any:
    if field in _AMOUNTS:
        return _parse_amount(value)
    if field in _CODES:
        return re.sub(r"[\s.-]", "", str(value)).upper()
    return re.sub(r"\s+", " ", str(value)).strip()


def _parse_amount(value: Any) -> Decimal | None:
    try:
        return None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None


def choose_values_of_page(truth: Mapping[str, Any]) -> dict[str, Any]:
    """What the pages of an e-invoice say: its XML may say otherwise, or more than any page shows.

    Fields that the truth does not name as printed are not asked for; lines are asked for where there is no list.
    """
    printed = truth.get("in_text_layer")
    values = {**truth, **(truth.get("only_on_page") or {}), **(truth.get("differs_on_page") or {})}
    also = {*(truth.get("only_on_page") or {}), *(truth.get("differs_on_page") or {})}
    return {field: values.get(field) for field in FIELDS if printed is None or field in printed or field in also}


def list_reliability(
    judgements: Sequence[Judgement], edges: Sequence[float] = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
) -> Iterator[tuple[str, int, int, int]]:
    """By confidence: `(range, documents, fields read, of them right)`. Well calibrated, shares and ranges agree."""
    below = 0.0
    for edge in (*edges, 1.01):
        within = [
            judgement
            for judgement in judgements
            if judgement.confidence is not None and below <= judgement.confidence < edge
        ]
        read = sum(judgement.count(Verdict.RIGHT) + judgement.count(Verdict.WRONG) for judgement in within)
        right = sum(judgement.count(Verdict.RIGHT) for judgement in within)
        if within:
            yield ("1.0" if below == 1.0 else f"{below:g} to {edge:g}"), len(within), read, right
        below = edge
