from typing import Any

import pytest

from ingestion.domain.layout_template import (
    MAX_FEATURES,
    MAX_LABEL_CHARACTERS,
    MAX_RULES,
    LayoutTemplate,
    PlaceRule,
    compute_marks,
    is_same_layout,
)

TEMPLATE = LayoutTemplate(
    document_type="invoice",
    supplier_name="Nordlicht GmbH",
    vat_id=None,
    currency="EUR",
    currencies=("EUR",),
    features=(1, 2, 3),
    overrides=("total_gross",),
    rules={"total_gross": (PlaceRule("left", "zu entrichten"),)},
)
RULE = PlaceRule("left", "zu entrichten").to_json()


def test_a_template_comes_back_from_json() -> None:
    assert LayoutTemplate.from_json(TEMPLATE.to_json()) == TEMPLATE


@pytest.mark.parametrize(
    "changed",
    [
        {"features": list(range(MAX_FEATURES + 1))},
        {"overrides": ["lines"]},
        {"features": [-1]},
        {"features": ["1"]},
        {"supplier_name": "x" * 501},
        {"supplier_name": 5},
        {"currencies": [5]},
        {"overrides": ["total_gross"] * 30},
        {"currencies": ["EUR"] * 30},
        {"rules": {"lines": [RULE]}},
        {"rules": {"total_gross": [RULE] * (MAX_RULES + 1)}},
        {"rules": {"total_gross": [{**RULE, "label": "x" * (MAX_LABEL_CHARACTERS + 1)}]}},
        {"rules": {"total_gross": [{**RULE, "kind": "elsewhere"}]}},
        {"rules": {"total_gross": [{**RULE, "day_first": "yes"}]}},
        {"rules": {"total_gross": [{**RULE, "more": 1}]}},
    ],
)
def test_what_no_reader_of_ours_answers_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        LayoutTemplate.from_json({**TEMPLATE.to_json(), **changed})


def test_layouts_that_are_alike_share_marks_and_others_do_not() -> None:
    layout, longer = list(range(40)), list(range(4, 60))
    assert set(compute_marks(layout)) & set(compute_marks(longer))
    assert is_same_layout(layout, longer)
    other = list(range(100, 140))
    assert not set(compute_marks(layout)) & set(compute_marks(other))
    assert not is_same_layout(layout, other)


def test_a_page_of_a_few_words_is_no_layout() -> None:
    assert not is_same_layout([1, 2, 3, 4], [1, 2, 3, 4])
    assert compute_marks([]) == []
