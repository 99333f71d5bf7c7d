"""Templates in the parser process: what it answers is checked here, since a page may have taken it over."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from ingestion.adapters.reader_runner import ReaderRunner, require_agreed
from ingestion.domain.evidence import MAX_BOXES, EvidenceBox
from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import (
    TEMPLATE_EVIDENCE,
    TEMPLATE_FIELDS,
    LayoutTemplate,
    Lesson,
    StoredTemplate,
    read_features,
)
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Extraction
from ingestion.domain.supplier_accounts import fold_look_of_name
from ingestion.domain.transcript import Transcript

TEMPLATE_READER = "template/2"
_INVOICE_FIELDS = Invoice().to_json().keys()


class LocalTemplateReader:
    """`TemplateReader` of ports/templates.py."""

    def __init__(self, parser: ReaderRunner) -> None:
        self._parser = parser

    async def measure_layout(self, transcript: Transcript) -> Sequence[int]:
        return await self._parser.run_reader(
            "ingestion.extract.template_reading:measure_layout", orjson.dumps(transcript.to_json()), read_features
        )

    async def read_by_templates(
        self, transcript: Transcript, extraction: Extraction, templates: Sequence[StoredTemplate]
    ) -> Extraction | None:
        asked = {
            "transcript": transcript.to_json(),
            "fields": dict(extraction.fields),
            "templates": [stored.template.to_json() for stored in templates],
        }
        return await self._parser.run_reader(
            "ingestion.extract.template_reading:read_by_templates",
            orjson.dumps(asked),
            lambda answer: _decode_reading(answer, extraction, templates),
        )

    async def learn_template(
        self, transcript: Transcript, lesson: Lesson, former: LayoutTemplate | None
    ) -> LayoutTemplate | None:
        asked = {
            "transcript": transcript.to_json(),
            "fields": dict(lesson.fields),
            "document_type": lesson.document_type,
            "former": None if former is None else former.to_json(),
        }
        return await self._parser.run_reader(
            "ingestion.extract.template_reading:learn_template", orjson.dumps(asked), _decode_template
        )


def _decode_template(answer: Any) -> LayoutTemplate | None:
    return None if answer is None else LayoutTemplate.from_json(answer)


def _decode_reading(answer: Any, general: Extraction, templates: Sequence[StoredTemplate]) -> Extraction | None:
    if answer is None:
        return None
    number, fields = answer["number"], dict(answer["extraction"])
    used, disputed = list(answer["used"]), dict(answer["disputed"])
    confidence = float(answer["confidence"])
    require_agreed(isinstance(number, int) and 0 <= number < len(templates) and 0 <= confidence <= 1)
    require_agreed(fields.keys() == _INVOICE_FIELDS and set(used) <= set(TEMPLATE_FIELDS) >= disputed.keys())
    # Only what it says is the template's may differ from what the general rules read.
    changed = {name for name in _INVOICE_FIELDS if fields[name] != general.fields[name]}
    require_agreed(changed <= set(used) and all(isinstance(fields[name], str) for name in used))
    require_agreed(all(isinstance(value, str) for value in disputed.values()))
    Invoice.from_json(fields).totals_add_up()  # routing asks this too, and must not fail then
    boxes = tuple(map(EvidenceBox.from_list, answer["boxes"]))
    require_agreed(len(boxes) <= MAX_BOXES and {box.field for box in boxes} <= _INVOICE_FIELDS)
    is_settled = not disputed and _settles_supplier(general, fields, templates[number].template)
    if not used and not disputed and not is_settled:
        return general
    evidence = {"id": templates[number].template_id, "fields": used}
    return replace(
        general,
        fields={**general.fields, **fields, TEMPLATE_EVIDENCE: evidence}
        | ({"template_values": disputed} if disputed else {}),
        confidence=min(confidence, 0.5) if disputed else confidence,
        reader=f"{general.reader}+{TEMPLATE_READER}",
        boxes=boxes,
        review_reason=None if is_settled else _choose_reason(general.review_reason, disputed),
    )


def _settles_supplier(general: Extraction, fields: Mapping[str, Any], template: LayoutTemplate) -> bool:
    """Whether a person has said whose invoices look so. Not of one with an account, which is known from others of this
    supplier or seen by a person: a layout is easily imitated."""
    name = fold_look_of_name(str(fields["supplier_name"] or ""))
    is_same = bool(name) and name == fold_look_of_name(template.supplier_name or "")
    return general.review_reason is ReviewReason.SUPPLIER_UNCERTAIN and fields["iban"] is None and is_same


def _choose_reason(general: ReviewReason | None, disputed: Mapping[str, Any]) -> ReviewReason | None:
    is_least = general is None or general is ReviewReason.SUPPLIER_UNCERTAIN
    return ReviewReason.READERS_DISAGREE if disputed and is_least else general
