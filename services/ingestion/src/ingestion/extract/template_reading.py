"""Templates in the parser process: measuring a layout, learning from a confirmed document, reading the next one.

A template fills what the general rules leave open, and replaces what they read where a person has said that the value
stands elsewhere. It decides nothing that arithmetic contradicts, and knows nothing of embedded XML, which is exact.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any, BinaryIO

import orjson

from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import (
    DATE_FIELDS,
    MAX_RULES,
    PLACED_FIELDS,
    TEMPLATE_FIELDS,
    LayoutTemplate,
    PlaceRule,
    is_same_layout,
)
from ingestion.domain.supplier_accounts import fold_look_of_name
from ingestion.domain.transcript import Transcript
from ingestion.extract import values
from ingestion.extract.evidence_boxes import find_boxes
from ingestion.extract.layout_features import Page, compute_features, index_page
from ingestion.extract.layout_rules import limit_lines, read_invoice
from ingestion.extract.ocr_certainty import was_read_by_ocr
from ingestion.extract.rule_based import estimate_confidence
from ingestion.extract.template_rules import Value, learn_rules, list_readings, read_rule
from ingestion.extract.titles.other_titles import asks_for_nothing_new
from mailroom_common.parser import JSON

_OF_SUPPLIER = ("supplier_name", "vat_id")  # the page prints it: this is whose it is
_TOTALS = ("total_gross", "total_net", "total_tax")
_MAX_CONFIDENCE = 0.9  # one document taught it, and the next may be another case
_MIN_NAME = 4  # letters and digits of a name that is not found by chance


def measure_layout(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """The features of a layout; none of what no template is for: an e-invoice, a PDF with others in it, what was read
    off a picture, and what has another title, but the letter head and the labels of an invoice: a reminder, say."""
    transcript = Transcript.from_json(orjson.loads(file.read()))
    if transcript.e_invoice is not None or transcript.part_starts or was_read_by_ocr(transcript):
        return []
    if asks_for_nothing_new(limit_lines(transcript)):
        return []
    return list(compute_features(index_page(transcript)))


def learn_template(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """The template that a decided document teaches; null where nothing on its pages says whose it is, or where a value
    stands. Of `former`, a template of the same layout, stays what is true of this document too."""
    lesson = orjson.loads(file.read())
    transcript = Transcript.from_json(lesson["transcript"])
    former = None if lesson["former"] is None else LayoutTemplate.from_json(lesson["former"])
    template = build_template(transcript, Invoice.from_json(lesson["fields"]), lesson["document_type"], former)
    return None if template is None else template.to_json()


def read_by_templates(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """What the first of the templates that fits makes of the general rules' fields: its number in the list, and
    `extraction`, `used` (names of fields that are the template's), `disputed` (its values that stay beside),
    `boxes` and `confidence`; null where none fits."""
    asked = orjson.loads(file.read())
    transcript = Transcript.from_json(asked["transcript"])
    page, general = index_page(transcript), Invoice.from_json(asked["fields"])
    for number, written in enumerate(asked["templates"]):
        template = LayoutTemplate.from_json(written)
        if _fits_page(template, page) and not _is_of_another(template, general):
            invoice, used, disputed = merge_reading(general, read_template(template, page), template.overrides)
            return {
                "number": number,
                "extraction": invoice.to_json(),
                "used": used,
                "disputed": _write_fields(disputed),
                "boxes": [box.to_list() for box in find_boxes(invoice.to_json(), transcript.lines)],
                "confidence": min(estimate_confidence(invoice), _MAX_CONFIDENCE),
            }
    return None


def build_template(
    transcript: Transcript, invoice: Invoice, document_type: str, former: LayoutTemplate | None
) -> LayoutTemplate | None:
    page = index_page(transcript)
    features = tuple(compute_features(page))
    template = LayoutTemplate(
        document_type=document_type,
        supplier_name=invoice.supplier_name,
        vat_id=invoice.vat_id if invoice.vat_id and _is_printed(invoice.vat_id, page) else None,
        currency=invoice.currency,
        currencies=_name_currencies(page),
        features=features,
        overrides=_list_overrides(read_invoice(transcript).invoice, invoice, former),
        rules={
            field: rules for field, rules in _unify_date_order(_learn_fields(page, invoice, former)).items() if rules
        },
    )
    if not template.rules or not is_same_layout(features, features) or not _fits_page(template, page):
        return None
    if former is None:
        return template
    # What both documents have is the layout; their lines and customers are not.
    common = tuple(feature for feature in features if feature in set(former.features))
    return replace(template, features=common if is_same_layout(common, common) else features)


def _list_overrides(general: Invoice, invoice: Invoice, former: LayoutTemplate | None) -> tuple[str, ...]:
    """The fields in which the general rules are no help. Where they are right, a rule that is true by chance must not
    go before them."""
    known = former.overrides if former is not None else ()
    return tuple(name for name in TEMPLATE_FIELDS if name in known or getattr(general, name) != getattr(invoice, name))


def _learn_fields(page: Page, invoice: Invoice, former: LayoutTemplate | None) -> dict[str, tuple[PlaceRule, ...]]:
    learned: dict[str, tuple[PlaceRule, ...]] = {}
    for field in PLACED_FIELDS:
        value: Value | None = getattr(invoice, field)
        known = former.rules.get(field, ()) if former is not None else ()
        if value is None:
            # This one has no such value: a rule that finds one is wrong, the others wait for the next.
            learned[field] = tuple(rule for rule in known if read_rule(page, field, rule) is None)
            continue
        kept = [rule for rule in known if read_rule(page, field, rule) in (value, None)]
        new = [rule for rule in learn_rules(page, field, value) if rule not in kept]
        learned[field] = tuple((kept + new)[:MAX_RULES])
    return learned


def _unify_date_order(learned: dict[str, tuple[PlaceRule, ...]]) -> dict[str, tuple[PlaceRule, ...]]:
    """The first of the first tells no order of day and month; the other date of the document may."""
    orders = {rule.day_first for field in DATE_FIELDS for rule in learned[field]} - {None}
    if len(orders) != 1:
        return learned
    (day_first,) = orders
    settled = {field: tuple(replace(rule, day_first=day_first) for rule in learned[field]) for field in DATE_FIELDS}
    return {**learned, **settled}


def _fits_page(template: LayoutTemplate, page: Page) -> bool:
    """Whether the page says that it is of the template's supplier: a layout alone is a program's, which many use."""
    if template.vat_id is not None:
        return _is_printed(template.vat_id, page)
    name = template.supplier_name
    return name is not None and len(_strip(name)) >= _MIN_NAME and _is_printed(name, page)


def _is_of_another(template: LayoutTemplate, general: Invoice) -> bool:
    """Whether the general rules read the page as another supplier's. A name alone may be a word that every invoice has:
    `Netto`, `Total` or `Post` are suppliers too."""
    if template.vat_id is not None:
        return False
    is_other_name = fold_look_of_name(general.supplier_name or "") != fold_look_of_name(template.supplier_name or "")
    is_named_otherwise = general.supplier_name is not None and is_other_name
    return general.vat_id is not None or (is_named_otherwise and "supplier_name" not in template.overrides)


def read_template(template: LayoutTemplate, page: Page) -> Invoice:
    """What the template says of the page, a field that it is not sure of unknown."""
    read = {field: list_readings(page, field, rules) for field, rules in template.rules.items()}
    found: dict[str, Any] = {field: min(some) if len(some) == 1 else None for field, some in read.items()}
    found |= _choose_totals(read)
    has_its_currency = _name_currencies(page) == template.currencies
    return Invoice(
        supplier_name=template.supplier_name,
        vat_id=template.vat_id,
        currency=template.currency if has_its_currency else None,
        **found,
    )


def _choose_totals(read: Mapping[str, set[Value]]) -> dict[str, Value | None]:
    """The totals that the rules find: where the layout has all three of them, only those that add up."""
    readings = [read.get(name, set()) for name in _TOTALS]
    triples = [dict(zip(_TOTALS, triple, strict=True)) for triple in product(*readings)]
    fitting = [triple for triple in triples if _with_fields(Invoice(), triple).totals_add_up()]
    if len(fitting) == 1:
        return {**fitting[0]}
    if all(name in read for name in _TOTALS) or any(len(found) > 1 for found in readings):
        return dict.fromkeys(_TOTALS)
    return {name: next(iter(found), None) for name, found in zip(_TOTALS, readings, strict=True)}


def merge_reading(
    general: Invoice, from_template: Invoice, overrides: Collection[str]
) -> tuple[Invoice, list[str], dict[str, Value]]:
    """The fields of both, the names of those that are the template's, and its values that arithmetic speaks against."""
    goes_first = {*_OF_SUPPLIER, *overrides, *(name for name in TEMPLATE_FIELDS if getattr(general, name) is None)}
    found = {name: getattr(from_template, name) if name in goes_first else None for name in TEMPLATE_FIELDS}
    if (
        from_template.due_date
        and (issued := from_template.issue_date or general.issue_date)
        and from_template.due_date < issued
    ):
        found["due_date"] = None
    totals, disputed = _merge_totals(general, from_template, {name: found[name] for name in _TOTALS})
    found |= totals
    used = [name for name, value in found.items() if value is not None and value != getattr(general, name)]
    return _with_fields(general, {name: found[name] for name in used}), used, disputed


def _merge_totals(
    general: Invoice, from_template: Invoice, theirs: dict[str, Decimal | None]
) -> tuple[dict[str, Decimal | None], dict[str, Value]]:
    """The template's totals as far as they are used, and those that are disputed. `theirs` are those that go before the
    general rules."""
    nothing: dict[str, Decimal | None] = dict.fromkeys(_TOTALS)
    merged = _with_fields(general, {name: value for name, value in theirs.items() if value is not None})
    differing: dict[str, Value] = {
        name: value
        for name, value in theirs.items()
        if value is not None and getattr(general, name) not in (None, value)
    }
    if from_template.totals_add_up() is False or merged.totals_add_up() is False:
        # Net and tax are not the total: the template is wrong, or the page is.
        return nothing, differing
    if differing and general.totals_add_up():
        # Both add up, and are not the same.
        return nothing, differing
    return theirs, {}


def _name_currencies(page: Page) -> tuple[str, ...]:
    return tuple(sorted({code for row in page for cell in row for code in values.find_currencies(cell.text)}))


def _is_printed(text: str, page: Page) -> bool:
    wanted = _strip(text)
    return bool(wanted) and any(wanted in _strip(" ".join(cell.text for cell in row)) for row in page)


def _strip(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _write_fields(found: Mapping[str, Value]) -> dict[str, Any]:
    written = _with_fields(Invoice(), found).to_json()
    return {name: written[name] for name in found}


def _with_fields(invoice: Invoice, fields: Mapping[str, Any]) -> Invoice:
    return replace(invoice, **fields)
