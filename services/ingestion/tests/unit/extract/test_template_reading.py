from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import orjson
import pytest

from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import MAX_FEATURES, MAX_RULES, TEMPLATE_FIELDS
from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_features import compute_features, index_page
from ingestion.extract.template_reading import (
    build_template,
    measure_layout,
    merge_reading,
    read_by_templates,
    read_template,
)

ROWS = (
    "Nordlicht GmbH   Rechnung",
    "unser Zeichen   NL/01",
    "geschrieben   03/04/2026",
    "Stueck   Preis   Betrag",
    "Arbeit   1   80.00",
    "davor   EUR   80.00",
    "Abgabe   EUR   15.20",
    "zu entrichten   EUR   95.20",
)


def build_page(*rows: str) -> Transcript:
    return Transcript.from_rows(row.replace("   ", "  ") for row in rows)


def amounts(gross: str | None, net: str | None = None, tax: str | None = None) -> Invoice:
    read = [None if amount is None else Decimal(amount) for amount in (gross, net, tax)]
    return Invoice(total_gross=read[0], total_net=read[1], total_tax=read[2])


TAUGHT: dict[str, Any] = {"supplier_name": "Nordlicht GmbH", "invoice_number": "NL/01", "total_gross": Decimal("95.20")}


@pytest.mark.parametrize(
    ("general", "taught", "total", "disputed"),
    [
        # Nothing was read, or what was read does not add up.
        (amounts(None), amounts("119", "100", "19"), "119", set()),
        (amounts("100", "90", "19"), amounts("119", "100", "19"), "119", set()),
        # A sum speaks for the general rules, and none for the template.
        (amounts("119", "100", "19"), amounts("100"), "119", {"total_gross"}),
        # Both add up: who is right, a person says.
        (amounts("119", "100", "19"), amounts("238", "200", "38"), "119", {"total_gross", "total_net", "total_tax"}),
        # The template's do not.
        (amounts(None), amounts("120", "100", "19"), None, set()),
        (amounts("119", "100", "19"), amounts("119", "100", "19"), "119", set()),
    ],
)
def test_no_template_goes_against_a_sum(
    general: Invoice, taught: Invoice, total: str | None, disputed: set[str]
) -> None:
    merged, _, differing = merge_reading(general, taught, TEMPLATE_FIELDS)
    assert merged.total_gross == (None if total is None else Decimal(total))
    assert differing.keys() == disputed


def test_what_the_general_rules_read_right_when_it_was_learned_stays_theirs() -> None:
    # The row of one rate, which was the total of an invoice that had no other.
    general, of_one_rate = amounts("518.99", "448.99", "70.00"), amounts("382.47", "321.40", "61.07")
    assert merge_reading(general, of_one_rate, ["invoice_number"]) == (general, [], {})
    unread = amounts("518.99")
    assert merge_reading(unread, of_one_rate, ["invoice_number"]) == (unread, [], {})
    assert merge_reading(amounts(None), of_one_rate, ["invoice_number"])[0] == of_one_rate


def test_a_template_goes_before_the_general_rules_where_they_were_wrong_once() -> None:
    wanted = Invoice(supplier_name="Nordlicht GmbH", invoice_number="NL/01", currency="EUR")
    template = build_template(build_page(*ROWS), wanted, "invoice", None)
    assert template is not None
    assert "invoice_number" in template.overrides
    assert "currency" not in template.overrides
    again = build_template(build_page(*ROWS, "Rechnung Nr. NL/01"), wanted, "invoice", template)
    assert again is not None
    assert "invoice_number" in again.overrides


def test_a_rule_is_kept_if_it_reads_the_confirmed_value_on_its_own_page() -> None:
    template = build_template(build_page(*ROWS), Invoice(**TAUGHT), "invoice", None)
    assert template is not None
    assert template.rules.keys() == {"invoice_number", "total_gross"}
    following = build_page(*[row.replace("NL/01", "NL/02").replace("95.20", "11.90") for row in ROWS])
    read = read_template(template, index_page(following))
    assert (read.invoice_number, read.total_gross) == ("NL/02", Decimal("11.90"))


def test_a_label_before_two_values_is_no_rule() -> None:
    rows = [*ROWS[:-1], "zu entrichten   95.20", "zu entrichten   EUR   11.00", "noch zu entrichten   95.20"]
    template = build_template(build_page(*rows), Invoice(**TAUGHT), "invoice", None)
    assert template is not None
    assert {rule.label for rule in template.rules["total_gross"]} == {"zu entrichten", "noch zu entrichten"}
    rows[-2] = "zu entrichten   11.00"
    template = build_template(build_page(*rows), Invoice(**TAUGHT), "invoice", None)
    assert template is not None
    assert {rule.label for rule in template.rules["total_gross"]} == {"noch zu entrichten"}


def test_what_stands_nowhere_on_the_page_is_not_learned() -> None:
    wanted = Invoice(supplier_name="Nordlicht GmbH", invoice_number="X/77", total_gross=Decimal("1.00"))
    assert build_template(build_page(*ROWS), wanted, "invoice", None) is None


def test_a_page_that_does_not_name_its_supplier_teaches_nothing() -> None:
    assert build_template(build_page(*ROWS), Invoice(**{**TAUGHT, "supplier_name": "Logo AG"}), "invoice", None) is None


def test_a_template_holds_no_values_but_the_suppliers_own() -> None:
    template = build_template(build_page(*ROWS), Invoice(**TAUGHT), "invoice", None)
    assert template is not None
    assert not any(value in str(template.to_json()) for value in ("NL/01", "95.20", "80.00"))


def test_a_hostile_page_makes_no_large_template() -> None:
    rows = [*ROWS, *(f"{'w' * 900}   zu entrichten   EUR   95.20   " + "   ".join("abc" * 10) for _ in range(400))]
    page = index_page(build_page(*rows))
    assert len(page) <= 320
    assert max(len(row) for row in page) <= 16
    assert len(compute_features(page)) <= MAX_FEATURES
    template = build_template(build_page(*rows), Invoice(**TAUGHT), "invoice", None)
    assert template is None or all(len(rules) <= MAX_RULES for rules in template.rules.values())


@pytest.mark.parametrize(
    ("read", "is_read"),
    [
        ({}, True),
        ({"supplier_name": "Netto"}, True),
        ({"supplier_name": "Nordlicht GmbH"}, False),
        ({"vat_id": "DE136695976"}, False),
    ],
)
def test_a_supplier_whose_name_is_a_word_of_every_invoice_takes_no_other_ones_place(
    read: dict[str, str], is_read: bool
) -> None:
    taught = Invoice(supplier_name="Netto", invoice_number="NL/01")
    page = build_page("Netto   Rechnung", *ROWS[1:])
    template = build_template(page, taught, "invoice", None)
    assert template is not None
    template = replace(template, overrides=("invoice_number",))
    asked = {
        "transcript": build_page("Netto   95.20", *ROWS).to_json(),
        "fields": {**Invoice().to_json(), **read},
        "templates": [template.to_json()],
    }
    assert (read_by_templates(BytesIO(orjson.dumps(asked)), {}) is not None) is is_read


@pytest.mark.parametrize(("title", "is_for_templates"), [("Rechnung", True), ("Zahlungserinnerung", False)])
def test_a_reminder_is_not_read_by_the_template_of_the_invoices_that_it_looks_like(
    title: str, is_for_templates: bool
) -> None:
    transcript = build_page(title, *ROWS)
    assert bool(measure_layout(BytesIO(orjson.dumps(transcript.to_json())), {})) is is_for_templates


@pytest.mark.parametrize("currency", ["{} Ft", "HUF {}", "{} ¥"])
def test_totals_without_cents_are_learned_with_their_currency(currency: str) -> None:
    def build(net: str, tax: str, gross: str) -> Transcript:
        totals = zip(("davor", "Abgabe", "zu entrichten"), (net, tax, gross), strict=True)
        return build_page(*ROWS[:4], *(f"{label}   {currency.format(amount)}" for label, amount in totals))

    wanted = replace(amounts("152400", "120000", "32400"), supplier_name="Nordlicht GmbH", currency="HUF")
    template = build_template(build("120 000", "32 400", "152 400"), wanted, "invoice", None)
    assert template is not None
    read = read_template(template, index_page(build("98 500", "26 595", "125 095")))
    assert read == replace(amounts("125095", "98500", "26595"), supplier_name="Nordlicht GmbH", currency="HUF")


def test_a_number_without_cents_and_currency_is_no_money() -> None:
    wanted = Invoice(supplier_name="Nordlicht GmbH", total_gross=Decimal(80), invoice_number="NL/01")
    template = build_template(build_page(*ROWS[:4], "zu entrichten   80"), wanted, "invoice", None)
    assert template is not None
    assert "total_gross" not in template.rules
