"""What a confirmed document teaches about its layout: where each value stands, for the next document that looks alike.

A template belongs to one tenant and one supplier. It holds labels and places and none of the values, but the supplier's
own: name, VAT id and currency. It comes from untrusted pages, so everything in it is bounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, NewType, Self

from ingestion.domain.document import DocumentId

TemplateId = NewType("TemplateId", str)

MAX_TEMPLATES = 500
"""Of a tenant; the oldest ones are deleted first."""
MAX_FEATURES = 96
MAX_RULES = 3  # of a field
MAX_LABEL_CHARACTERS = 80
MAX_TEXT_CHARACTERS = 500  # of a supplier's name

TEXT_FIELDS = ("invoice_number",)
DATE_FIELDS = ("issue_date", "due_date")
AMOUNT_FIELDS = ("total_gross", "total_net", "total_tax", "amount_due")
PLACED_FIELDS = (*TEXT_FIELDS, *DATE_FIELDS, *AMOUNT_FIELDS, "iban")
"""Fields that a template knows the place of."""
TEMPLATE_FIELDS = ("supplier_name", "vat_id", "currency", *PLACED_FIELDS)

TEMPLATE_EVIDENCE = "template"
"""In `extraction`: which template was used, and for which fields."""

_MARKS = 12
_MIN_SHARED = 5  # features that two documents of one layout share
_MIN_SHARE = 0.6

RuleKind = Literal["inside", "left", "row", "above", "place"]
RULE_KINDS: tuple[RuleKind, ...] = ("inside", "left", "row", "above", "place")
"""Where a label stands: before the value in its cell; in the cell to its left; at the beginning of its row; over it in
its column; nowhere, and the value has a place of its own. The most lasting kind first."""


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """How to find one value. `label` is folded. `cells_behind` counts the cells to the right of the value in its row;
    `left` and `top` are in points. `shape` is that of a number, `day_first` the order of a date."""

    kind: RuleKind
    label: str = ""
    cells_behind: int = 0
    left: float = 0.0
    top: float = 0.0
    shape: str | None = None
    day_first: bool | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """
        Raises:
            ValueError, KeyError, TypeError: it is no such rule.
        """
        rule = cls(**value)
        texts = (rule.label, rule.shape or "")
        if rule.kind not in RULE_KINDS or not all(isinstance(text, str) for text in texts):
            raise ValueError("this is no rule of ours")
        if any(len(text) > MAX_LABEL_CHARACTERS for text in texts) or not isinstance(rule.day_first, bool | None):
            raise ValueError("this is no rule of ours")
        if not isinstance(rule.cells_behind, int) or not isinstance(rule.left + rule.top, float | int):
            raise ValueError("this is no rule of ours")
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutTemplate:
    """`features` are the layout's, `currencies` those that its page names. `overrides` are the fields that the general
    rules did not read as a person says: the others are only filled where those leave them open."""

    document_type: str
    supplier_name: str | None
    vat_id: str | None
    currency: str | None
    currencies: tuple[str, ...]
    features: tuple[int, ...]
    overrides: tuple[str, ...]
    rules: Mapping[str, tuple[PlaceRule, ...]]

    def to_json(self) -> dict[str, Any]:
        return {
            "document_type": self.document_type,
            "supplier_name": self.supplier_name,
            "vat_id": self.vat_id,
            "currency": self.currency,
            "currencies": list(self.currencies),
            "features": list(self.features),
            "overrides": list(self.overrides),
            "rules": {field: [rule.to_json() for rule in rules] for field, rules in self.rules.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """
        Raises:
            ValueError, KeyError, TypeError: it is no template, or larger than one may be.
        """
        texts = [value["supplier_name"], value["vat_id"], value["currency"], value["document_type"]]
        texts += value["currencies"]
        if any(text is not None and not isinstance(text, str) for text in texts):
            raise ValueError("this is no template of ours")
        if any(len(text or "") > MAX_TEXT_CHARACTERS for text in texts) or len(texts) > 24:
            raise ValueError("this template is too large")
        if len(value["overrides"]) > len(TEMPLATE_FIELDS) or not set(value["overrides"]) <= set(TEMPLATE_FIELDS):
            raise ValueError("this is no template of ours")
        rules = {field: tuple(PlaceRule.from_json(rule) for rule in listed) for field, listed in value["rules"].items()}
        if not rules.keys() <= set(PLACED_FIELDS) or any(len(listed) > MAX_RULES for listed in rules.values()):
            raise ValueError("this is no template of ours")
        return cls(
            document_type=value["document_type"],
            supplier_name=value["supplier_name"],
            vat_id=value["vat_id"],
            currency=value["currency"],
            currencies=tuple(value["currencies"]),
            features=read_features(value["features"]),
            overrides=tuple(value["overrides"]),
            rules=rules,
        )


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    template_id: TemplateId
    template: LayoutTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A document that a person decided, with the fields of that decision. `version` is that of the decision."""

    document_id: DocumentId
    tenant_id: str
    version: int
    blob_key: str
    content_sha256: str
    document_type: str
    fields: Mapping[str, Any]


def read_features(value: Any) -> tuple[int, ...]:
    """
    Raises:
        ValueError: these are not the features of a layout.
    """
    if not isinstance(value, list) or len(value) > MAX_FEATURES:
        raise ValueError("these are no features of a layout")
    if not all(isinstance(feature, int) and 0 <= feature < 2**62 for feature in value):
        raise ValueError("these are no features of a layout")
    return tuple(value)


def compute_marks(features: Sequence[int]) -> list[int]:
    """The MinHash signature of the features: two layouts share the more numbers, the more features they share, so that
    an index of the database finds similar ones."""
    return sorted({min(_shuffle(feature, turn) for feature in features) for turn in range(_MARKS)}) if features else []


def _shuffle(feature: int, turn: int) -> int:
    digest = sha256(f"{turn}/{feature}".encode()).digest()
    return int.from_bytes(digest[:7], "big") * _MARKS + turn


def is_same_layout(one: Sequence[int], other: Sequence[int]) -> bool:
    return len(set(one) & set(other)) >= _MIN_SHARED and measure_similarity(one, other) >= _MIN_SHARE


def measure_similarity(one: Sequence[int], other: Sequence[int]) -> float:
    """The share of the smaller one's features that both have: what an invoice has more are its lines."""
    return len(set(one) & set(other)) / max(1, min(len(set(one)), len(set(other))))
