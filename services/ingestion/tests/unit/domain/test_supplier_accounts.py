from dataclasses import replace
from typing import Any

import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.supplier_accounts import (
    MAX_KNOWN_IBANS,
    KnownAccounts,
    SupplierAccount,
    find_supplier_account,
    fold_look_of_name,
    fold_supplier_name,
    is_same_reading,
    require_known_account,
)
from mailroom_common.events import ResultStatus

OLD, NEW = "DE88200800000970375700", "FR1420041010050500013M02606"
FIELDS: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Muster GmbH",
    "vat_id": "DE136695976",
    "iban": NEW,
}
EXACT = DocumentOutcome(
    status=ResultStatus.COMPLETED,
    document_type="invoice",
    extraction=FIELDS,
    confidence=1.0,
    reader="e-invoice/6",
)
NOTHING = KnownAccounts(has_account=False, ibans=())
OTHER = KnownAccounts(has_account=False, ibans=(OLD,))
SAME = KnownAccounts(has_account=True, ibans=(OLD, NEW))


def test_an_account_that_is_new_for_a_known_supplier_is_for_a_person_however_sure_the_reader() -> None:
    changed = require_known_account(EXACT, [OTHER, OTHER])
    assert (changed.status, changed.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.IBAN_CHANGED)
    assert changed.extraction == {**FIELDS, "known_ibans": [OLD]}
    assert changed.confidence == 1.0


@pytest.mark.parametrize("known", [[], [NOTHING, NOTHING], [SAME, SAME], [SAME, NOTHING], [NOTHING, SAME]])
def test_the_first_account_of_a_supplier_and_one_of_several_known_ones_are_no_change(
    known: list[KnownAccounts],
) -> None:
    assert require_known_account(EXACT, known) == EXACT


@pytest.mark.parametrize("known", [[NOTHING, OTHER], [OTHER, NOTHING], [SAME, OTHER], [OTHER, SAME]])
def test_the_name_of_one_supplier_with_the_vat_id_of_another_hides_no_new_account(known: list[KnownAccounts]) -> None:
    assert require_known_account(EXACT, known).reason is ReviewReason.IBAN_CHANGED


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (ReviewReason.FIELDS_MISSING, ReviewReason.IBAN_CHANGED),
        (ReviewReason.TOTALS_DO_NOT_ADD_UP, ReviewReason.IBAN_CHANGED),
        (ReviewReason.PAGE_AND_XML_DISAGREE, ReviewReason.PAGE_AND_XML_DISAGREE),
        (ReviewReason.SEVERAL_E_INVOICES, ReviewReason.SEVERAL_E_INVOICES),
    ],
)
def test_what_is_missing_weighs_less_and_a_doubt_about_the_whole_document_stays(
    reason: ReviewReason, shown: ReviewReason
) -> None:
    doubtful = replace(EXACT, status=ResultStatus.NEEDS_REVIEW, reason=reason)
    changed = require_known_account(doubtful, [OTHER])
    assert changed.reason is shown
    assert (changed.extraction or {})["known_ibans"] == [OLD]


ONE_SIGN = replace(EXACT, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.SUPPLIER_UNCERTAIN)
ONLY_IN_XML = replace(EXACT, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.IBAN_NOT_ON_PAGE)


@pytest.mark.parametrize("known", [[SAME, SAME], [SAME, NOTHING], [NOTHING, SAME]])
def test_an_account_that_only_the_xml_names_is_no_doubt_once_it_is_known(known: list[KnownAccounts]) -> None:
    assert require_known_account(ONLY_IN_XML, known) == EXACT


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ([SAME, SAME], None),
        ([], ReviewReason.SUPPLIER_UNCERTAIN),
        ([SAME, NOTHING], ReviewReason.SUPPLIER_UNCERTAIN),  # the VAT id is known, and the name beside it is not
        ([SAME, OTHER], ReviewReason.IBAN_CHANGED),
    ],
)
def test_a_supplier_whom_one_sign_names_is_certain_once_its_name_is_known_with_this_account(
    known: list[KnownAccounts], reason: ReviewReason | None
) -> None:
    assert require_known_account(ONE_SIGN, known).reason is reason


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ([], ReviewReason.IBAN_NOT_ON_PAGE),
        ([NOTHING, NOTHING], ReviewReason.IBAN_NOT_ON_PAGE),
        ([SAME, OTHER], ReviewReason.IBAN_CHANGED),
    ],
)
def test_an_account_that_only_the_xml_names_and_nobody_has_confirmed_is_for_a_person(
    known: list[KnownAccounts], reason: ReviewReason
) -> None:
    assert require_known_account(ONLY_IN_XML, known).reason is reason


def test_a_reading_is_the_same_whether_its_account_was_known_then_or_not() -> None:
    assert is_same_reading(ONLY_IN_XML, EXACT)


def test_what_is_skipped_is_not_paid() -> None:
    rejected = replace(EXACT, status=ResultStatus.SKIPPED, reason=DocumentSkipReason.REJECTED)
    assert require_known_account(rejected, [OTHER]) == rejected


def test_a_few_of_the_known_accounts_are_shown() -> None:
    many = [KnownAccounts(has_account=False, ibans=tuple(f"{key}{n}" for n in range(MAX_KNOWN_IBANS))) for key in "ab"]
    shown = (require_known_account(EXACT, many).extraction or {})["known_ibans"]
    assert len(shown) == MAX_KNOWN_IBANS


def test_vat_id_and_account_are_compared_without_blanks_and_points() -> None:
    written = {**FIELDS, "vat_id": "DE 136.695.976", "iban": "de88 2008 0000 0970 3757 00"}
    assert find_supplier_account(written) == SupplierAccount(OLD, "DE136695976", "muster", "muster")


@pytest.mark.parametrize("vat_id", [None, "", "n/a", "DE"])
def test_without_a_vat_id_the_name_stands_for_the_supplier(vat_id: str | None) -> None:
    assert find_supplier_account({**FIELDS, "vat_id": vat_id}) == SupplierAccount(NEW, None, "muster", "muster")


@pytest.mark.parametrize(
    "fields", [None, {}, {**FIELDS, "iban": None}, {**FIELDS, "supplier_name": "-", "vat_id": None}, {"trades": []}]
)
def test_without_an_account_or_without_anybody_whose_it_is_there_is_nothing_to_compare(
    fields: dict[str, Any] | None,
) -> None:
    assert find_supplier_account(fields) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Müller & Söhne GmbH", "MÜLLER & SÖHNE"),
        ("Acme S.r.l.", "Acme Srl"),
        ("Nowak Sp. z o.o.", "NOWAK sp. z o. o."),
        ("Kunz GmbH & Co. KG", "Kunz"),
        ("Аcmе Ltd", "Acme Ltd"),  # two letters are Cyrillic
    ],
)
def test_names_that_an_eye_takes_for_one_are_one(one: str, other: str) -> None:
    assert fold_supplier_name(one) == fold_supplier_name(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lnfo AG", "Info AG"),  # a small L
        ("1nfo AG", "Info AG"),
        ("Must\u200ber GmbH", "Muster GmbH"),
        ("Muster G\u200bmbH", "Muster GmbH"),
        ("Muster\u3164G\u00admbH", "Muster GmbH"),
        ("\u200b" * 600 + "Muster GmbH", "Muster"),
        ("\U0001d40custer", "Muster"),  # a letter of mathematics
        ("\uff2d\uff55\uff53ter", "Muster"),
        ("M\u20dduster G\u20ddmbH", "Muster"),
        ("M\u0131llers", "Millers"),  # an i without its dot
        ("Cornrnerz", "Commerz"),
        ("\u00d8rsted", "0rsted"),
        ("\u0421\u043e\u0440\u0440\u0435r AG", "Copper AG"),  # Cyrillic
    ],
)
def test_names_that_look_alike_are_one_whatever_they_are_made_of(one: str, other: str) -> None:
    """Whoever forges an invoice of a known supplier needs one letter that nobody sees to be a new one."""
    assert fold_look_of_name(one) == fold_look_of_name(other) != ""


def test_a_look_alike_of_a_supplier_has_its_look_key_and_another_name_key() -> None:
    supplier = find_supplier_account({**FIELDS, "supplier_name": "Info Nord GmbH"})
    forged = find_supplier_account({**FIELDS, "supplier_name": "lnfo Nord GmbH"})
    assert supplier is not None
    assert forged is not None
    assert supplier.name_key != forged.name_key
    assert supplier.look_key == forged.look_key


@pytest.mark.parametrize("name", ["", "-", "***", "\u200b", "\u3164", "\U0001f1f2\U0001f1fa"])
def test_a_name_without_a_letter_names_nobody(name: str) -> None:
    assert fold_look_of_name(name) == ""


@pytest.mark.parametrize(("one", "other"), [("Acme Nord GmbH", "Acme Süd GmbH"), ("AG", "KG"), ("ООО Ромашка", "-")])
def test_names_of_other_letters_are_of_other_suppliers(one: str, other: str) -> None:
    assert fold_supplier_name(one) != fold_supplier_name(other)
    assert fold_look_of_name(one) != fold_look_of_name(other)


def test_a_reading_says_the_same_whichever_accounts_were_known_then() -> None:
    changed = require_known_account(EXACT, [OTHER])
    assert is_same_reading(EXACT, changed)
    assert is_same_reading(changed, EXACT)
    assert not is_same_reading(changed, replace(EXACT, extraction={**FIELDS, "iban": OLD}))
    assert not is_same_reading(EXACT, replace(EXACT, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.UNREADABLE))
