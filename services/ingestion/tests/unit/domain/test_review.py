from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from ingestion_fakes import build_trade

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.review import (
    Decision,
    HistoryKind,
    Review,
    ReviewAction,
    ReviewRefused,
    decide,
    is_repeated_decision,
)
from ingestion.domain.trade import Direction, Trade
from mailroom_common.events import Profile, ResultStatus

FIELDS: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "19.00",
    "total_net": "100.00",
    "total_tax": "19.00",
}
DOUBTFUL = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW,
    reason=ReviewReason.TOTALS_DO_NOT_ADD_UP,
    document_type="invoice",
    extraction={**FIELDS, "page_values": {"iban": "DE1"}, "model_values": {"iban": "DE2"}},
    confidence=0.6,
    reader="layout-rules/2",
    archive_path="archive/1.pdf",
)
UNREAD = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.9)


def build_review(action: ReviewAction, **fields: Any) -> Review:
    return Review(action=action, version=1, fields=fields, api_key_id="00")


def test_confirming_completes_what_was_read_and_settles_what_page_and_xml_said() -> None:
    decision = decide(build_review(ReviewAction.CONFIRM), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS)
    assert decision.kind is HistoryKind.CONFIRMED
    assert decision.outcome == replace(DOUBTFUL, status=ResultStatus.COMPLETED, reason=None, extraction=FIELDS)


def test_confirming_what_was_skipped_leaves_it_skipped() -> None:
    assert decide(build_review(ReviewAction.CONFIRM), SKIPPED, profile=Profile.INVOICE, read=None).outcome == SKIPPED


def test_nobody_confirms_what_was_not_read() -> None:
    with pytest.raises(ReviewRefused, match="Nothing was read"):
        decide(build_review(ReviewAction.CONFIRM), UNREAD, profile=Profile.INVOICE, read=None)


def test_rejecting_keeps_what_was_read_and_its_copy() -> None:
    outcome = decide(build_review(ReviewAction.REJECT), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert (outcome.status, outcome.reason) == (ResultStatus.SKIPPED, DocumentSkipReason.REJECTED)
    assert (outcome.extraction, outcome.archive_path) == (DOUBTFUL.extraction, "archive/1.pdf")


def test_a_correction_that_makes_it_whole_completes_it_and_says_what_it_changed() -> None:
    review = build_review(ReviewAction.CORRECT, total_gross="119.00", currency="EUR")
    decision = decide(review, DOUBTFUL, profile=Profile.INVOICE, read={**FIELDS, "total_gross": "1.90"})
    assert decision.outcome.status is ResultStatus.COMPLETED
    assert decision.outcome.extraction == {**FIELDS, "total_gross": "119.00"}
    assert (decision.outcome.reader, decision.outcome.confidence) == ("layout-rules/2", 0.6)
    assert decision.outcome.archive_path == "archive/1.pdf"
    assert [change.to_json() for change in decision.changes] == [
        {"field": "total_gross", "read": "1.90", "former": "19.00", "given": "119.00"}
    ]


def test_a_correction_with_a_slip_stays_in_review() -> None:
    review = build_review(ReviewAction.CORRECT, total_gross="191.00")
    outcome = decide(review, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.TOTALS_DO_NOT_ADD_UP)
    assert outcome.extraction is not None
    assert outcome.extraction["total_gross"] == "191.00"


@pytest.mark.parametrize("due", ["99999.00", "-5.00"])
def test_more_due_than_the_total_completes_no_invoice_until_it_is_confirmed(due: str) -> None:
    whole = {**FIELDS, "total_gross": "119.00"}
    doubtful = replace(DOUBTFUL, extraction={**whole, "invoice_number": None})

    def correct(current: DocumentOutcome, **given: Any) -> DocumentOutcome:
        return decide(build_review(ReviewAction.CORRECT, **given), current, profile=Profile.INVOICE, read=whole).outcome

    slip = correct(doubtful, amount_due=due)
    assert slip.reason is ReviewReason.TOTALS_DO_NOT_ADD_UP
    assert correct(slip, invoice_number="7").reason is ReviewReason.TOTALS_DO_NOT_ADD_UP
    confirmed = decide(build_review(ReviewAction.CONFIRM), slip, profile=Profile.INVOICE, read=whole).outcome
    assert correct(confirmed, invoice_number="7").status is ResultStatus.COMPLETED
    assert correct(slip, amount_due="19.00", invoice_number="7").status is ResultStatus.COMPLETED


@pytest.mark.parametrize("given", [{"total_net": "-1000.00"}, {"total_gross": "-119.00"}, {"total_gross": "0.00"}])
def test_an_invoice_of_nothing_or_less_or_with_a_net_total_of_the_other_sign_completes_once_it_is_confirmed(
    given: dict[str, str],
) -> None:
    read = {**FIELDS, "total_gross": "119.00", "total_net": None, "total_tax": None}
    doubtful = replace(DOUBTFUL, extraction=read)

    def correct(current: DocumentOutcome, **fields: Any) -> DocumentOutcome:
        return decide(build_review(ReviewAction.CORRECT, **fields), current, profile=Profile.INVOICE, read=read).outcome

    slip = correct(doubtful, **given)
    assert slip.reason is ReviewReason.TOTALS_DO_NOT_ADD_UP
    confirmed = decide(build_review(ReviewAction.CONFIRM), slip, profile=Profile.INVOICE, read=read).outcome
    assert correct(confirmed, invoice_number="8").status is ResultStatus.COMPLETED


def test_a_credit_note_may_have_a_negative_total() -> None:
    fields = {**FIELDS, "total_gross": "119.00", "total_net": None, "total_tax": None}
    credit = replace(DOUBTFUL, extraction=fields, document_type="credit_note")
    review = build_review(ReviewAction.CORRECT, total_gross="-119.00")
    assert decide(review, credit, profile=Profile.INVOICE, read=fields).outcome.status is ResultStatus.COMPLETED


def test_a_currency_that_was_replaced_before_the_issue_date_is_refused() -> None:
    review = build_review(ReviewAction.CORRECT, currency="DEM")
    with pytest.raises(ReviewRefused, match="DEM was replaced by 2002, and the issue date is 2026-04-01"):
        decide(review, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS)
    old = build_review(ReviewAction.CORRECT, currency="DEM", issue_date="1999-04-01")
    assert decide(old, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome.extraction is not None


ON_PAGE = {"total_gross": "125.00", "total_net": "100.00", "total_tax": "20.00"}
NAMED = {**FIELDS, "total_gross": None, "total_net": None, "total_tax": None, "page_totals": ON_PAGE}


def test_confirming_totals_that_do_not_add_up_makes_them_the_documents() -> None:
    named = replace(DOUBTFUL, extraction=NAMED)
    confirmed = decide(build_review(ReviewAction.CONFIRM), named, profile=Profile.INVOICE, read=NAMED).outcome
    assert confirmed.extraction == {**FIELDS, **ON_PAGE}


def test_what_was_struck_out_is_settled_by_a_decision() -> None:
    marked = replace(DOUBTFUL, extraction={**FIELDS, "page_marks": {"struck_out": ["7"]}})
    confirmed = decide(build_review(ReviewAction.CONFIRM), marked, profile=Profile.INVOICE, read=FIELDS).outcome
    assert confirmed.extraction == FIELDS


def test_correcting_another_field_leaves_the_totals_of_the_page_in_review() -> None:
    named = replace(DOUBTFUL, extraction=NAMED)

    def correct(**fields: Any) -> DocumentOutcome:
        return decide(build_review(ReviewAction.CORRECT, **fields), named, profile=Profile.INVOICE, read=NAMED).outcome

    corrected = correct(invoice_number="8")
    assert corrected.reason is ReviewReason.TOTALS_DO_NOT_ADD_UP
    assert (corrected.extraction or {})["page_totals"] == ON_PAGE
    given = correct(total_gross="120.00")
    assert (given.status, "page_totals" in (given.extraction or {})) == (ResultStatus.COMPLETED, False)
    assert correct(total_gross=None, invoice_number="8").reason is ReviewReason.FIELDS_MISSING


WHOLE = {**FIELDS, "total_gross": "119.00"}
REJECTED = replace(
    DOUBTFUL, status=ResultStatus.SKIPPED, reason=DocumentSkipReason.REJECTED, extraction={**WHOLE, "iban": "DE1"}
)


def test_a_rejected_document_is_taken_up_again_by_a_correction_with_the_value_that_it_has() -> None:
    with pytest.raises(ReviewRefused, match="correct it where it is right after all"):
        decide(build_review(ReviewAction.CONFIRM), REJECTED, profile=Profile.INVOICE, read=WHOLE)
    review = build_review(ReviewAction.CORRECT, invoice_number="7")
    assert decide(review, REJECTED, profile=Profile.INVOICE, read=WHOLE).outcome.status is ResultStatus.COMPLETED


def test_what_a_reader_doubted_of_the_account_is_doubted_when_a_rejected_document_is_taken_up_again() -> None:
    read = {**WHOLE, "review_reason": ReviewReason.TEXT_NOT_VISIBLE}
    review = build_review(ReviewAction.CORRECT, invoice_number="7")
    assert decide(review, REJECTED, profile=Profile.INVOICE, read=read).outcome.reason is ReviewReason.TEXT_NOT_VISIBLE


def test_rejecting_what_is_rejected_changes_nothing_without_a_comment() -> None:
    again = build_review(ReviewAction.REJECT)
    assert is_repeated_decision(again, REJECTED, HistoryKind.REJECTED)
    assert not is_repeated_decision(again, DOUBTFUL, None)
    assert not is_repeated_decision(replace(again, comment="an advertisement"), REJECTED, HistoryKind.REJECTED)


def test_confirming_what_is_confirmed_changes_nothing_without_a_comment() -> None:
    again = build_review(ReviewAction.CONFIRM)
    confirmed = decide(again, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert is_repeated_decision(again, confirmed, HistoryKind.CONFIRMED)
    assert is_repeated_decision(again, SKIPPED, HistoryKind.CONFIRMED)
    assert not is_repeated_decision(replace(again, comment="paid in cash"), confirmed, HistoryKind.CONFIRMED)


@pytest.mark.parametrize("decided", [None, HistoryKind.CORRECTED])
def test_confirming_what_was_only_read_or_corrected_is_a_decision(decided: HistoryKind | None) -> None:
    again = build_review(ReviewAction.CONFIRM)
    confirmed = decide(again, DOUBTFUL, profile=Profile.INVOICE, read=FIELDS).outcome
    assert not is_repeated_decision(again, confirmed, decided)


def test_confirming_what_is_doubted_anew_is_a_decision() -> None:
    assert not is_repeated_decision(build_review(ReviewAction.CONFIRM), DOUBTFUL, HistoryKind.CONFIRMED)


@pytest.mark.parametrize(
    "given", [{"due_date": "2025-05-01"}, {"due_date": "2062-05-01"}, {"issue_date": "2026-05-02"}]
)
def test_days_of_an_invoice_in_the_wrong_order_or_years_apart_are_refused(given: dict[str, str]) -> None:
    doubtful = replace(DOUBTFUL, extraction={**FIELDS, "due_date": "2026-05-01"})
    with pytest.raises(ReviewRefused, match="give the one that is wrong"):
        decide(build_review(ReviewAction.CORRECT, **given), doubtful, profile=Profile.INVOICE, read=FIELDS)


@pytest.mark.parametrize(
    ("reason", "beside"),
    [
        (ReviewReason.PAGE_AND_XML_DISAGREE, {"page_values": {"iban": "DE1"}}),
        (ReviewReason.IBAN_NOT_ON_PAGE, {}),
        (ReviewReason.TEXT_NOT_VISIBLE, {}),
    ],
)
def test_who_corrects_another_field_has_not_said_that_a_doubtful_account_is_right(
    reason: ReviewReason, beside: dict[str, Any]
) -> None:
    fields = {**FIELDS, "iban": "DE2"}
    read = {**beside, "page_values": {**beside.get("page_values", {}), "total_gross": "1.19"}} if beside else beside
    doubtful = replace(DOUBTFUL, reason=reason, extraction={**fields, **read})

    def correct(current: DocumentOutcome, **given: Any) -> DocumentOutcome:
        return decide(
            build_review(ReviewAction.CORRECT, **given), current, profile=Profile.INVOICE, read=fields
        ).outcome

    corrected = correct(doubtful, total_gross="119.00")
    assert (corrected.status, corrected.reason) == (ResultStatus.NEEDS_REVIEW, reason)
    assert corrected.extraction == {**fields, "total_gross": "119.00", **beside}
    assert correct(corrected, invoice_number="8").reason is reason
    named = correct(corrected, iban="DE1")
    assert (named.status, named.extraction) == (
        ResultStatus.COMPLETED,
        {**fields, "total_gross": "119.00", "iban": "DE1"},
    )
    confirmed = decide(build_review(ReviewAction.CONFIRM), corrected, profile=Profile.INVOICE, read=fields).outcome
    assert (confirmed.status, confirmed.extraction) == (ResultStatus.COMPLETED, {**fields, "total_gross": "119.00"})


def test_the_trades_of_a_rejected_note_are_told_to_nobody() -> None:
    note = replace(DOUBTFUL, document_type="contract_note", extraction={"trades": [{"is_cancellation": False}]})
    outcome = decide(build_review(ReviewAction.REJECT), note, profile=Profile.CONTRACT_NOTE, read=None).outcome
    assert (len(note.list_trades()), outcome.list_trades()) == (1, [])


@pytest.mark.parametrize("current", [UNREAD, SKIPPED], ids=["unread", "skipped"])
def test_a_person_gives_the_fields_of_what_no_reader_read(current: DocumentOutcome) -> None:
    given = {**FIELDS, "total_gross": "119.00"}
    outcome = decide(build_review(ReviewAction.CORRECT, **given), current, profile=Profile.INVOICE, read=None).outcome
    assert (outcome.status, outcome.document_type) == (ResultStatus.COMPLETED, "invoice")
    assert (outcome.extraction, outcome.confidence) == (given, current.confidence)


def test_a_changed_document_type_is_evidence_too() -> None:
    review = replace(build_review(ReviewAction.CORRECT), document_type="credit_note")
    decision = decide(review, DOUBTFUL, profile=Profile.INVOICE, read={**FIELDS, "document_type": "invoice"})
    assert decision.outcome.document_type == "credit_note"
    assert [change.to_json() for change in decision.changes] == [
        {"field": "document_type", "read": "invoice", "former": "invoice", "given": "credit_note"}
    ]


def test_a_correction_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ReviewRefused, match="says this already"):
        decide(build_review(ReviewAction.CORRECT, currency="EUR"), DOUBTFUL, profile=Profile.INVOICE, read=FIELDS)


NOTE = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW,
    reason=ReviewReason.FIELDS_MISSING,
    document_type="contract_note",
    extraction={"trades": [build_trade(quantity=None).to_json(), build_trade(price=None).to_json()]},
    confidence=0.7,
    reader="trades/1",
)


def correct_trades(*trades: Trade, current: DocumentOutcome = NOTE, **changed: Any) -> Decision:
    review = replace(build_review(ReviewAction.CORRECT, trades=[trade.to_json() for trade in trades]), **changed)
    return decide(review, current, profile=Profile.CONTRACT_NOTE, read=current.extraction)


def test_the_trades_of_a_note_are_corrected_and_judged_anew() -> None:
    decision = correct_trades(build_trade(), build_trade(price=None))
    assert decision.outcome.status is ResultStatus.COMPLETED
    assert (decision.outcome.reader, decision.outcome.confidence) == ("trades/1", 0.7)
    assert [change.to_json() for change in decision.changes] == [
        {"field": "trades.0.quantity", "read": None, "former": None, "given": "10"}
    ]
    slip = correct_trades(build_trade(settled_amount=Decimal("299.95")), build_trade()).outcome
    assert (slip.status, slip.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.TOTALS_DO_NOT_ADD_UP)


@pytest.mark.parametrize("changed", [{"quantity": Decimal(1)}, {"price": Decimal("2.05")}, {"gross_amount": None}])
def test_a_slip_in_what_is_multiplied_completes_no_note(changed: dict[str, Any]) -> None:
    """A quantity that loses a digit is booked so, though the amounts still add up."""
    note = replace(NOTE, extraction={"trades": [build_trade().to_json()]})
    outcome = correct_trades(build_trade(**changed), current=note).outcome
    expected = None if "gross_amount" in changed else ReviewReason.TOTALS_DO_NOT_ADD_UP
    assert outcome.reason is expected
    assert correct_trades(build_trade(**changed), current=UNREAD).outcome.reason is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"gross_amount": None, "settled_amount": Decimal(99999)}, "slip"),
        ({"gross_amount": None, "settled_amount": Decimal("20.95")}, "slip"),
        ({"gross_amount": None, "fees": None, "taxes": None, "settled_amount": Decimal(2099)}, "slip"),
        ({"gross_amount": None, "fees": None, "taxes": None, "settled_amount": Decimal(200)}, "slip"),
        ({"gross_amount": None, "fees": None, "taxes": None}, None),
        ({"gross_amount": None, "direction": Direction.SELL, "settled_amount": Decimal("200.05")}, None),
        ({"gross_amount": None, "price": None, "settled_amount": Decimal(5)}, None),
        ({"settled_amount": Decimal("-209.95")}, "slip"),
        ({"price": Decimal("-20.5")}, "slip"),
        ({"gross_amount": Decimal(-205), "settled_amount": Decimal("-200.05")}, "slip"),
        ({"direction": Direction.SELL, "fees": Decimal(206), "settled_amount": Decimal(-1)}, None),
        ({"direction": Direction.SELL, "gross_amount": None, "settled_amount": Decimal("-200.05")}, "slip"),
        ({"settled_amount": Decimal(2099)}, "slip"),
    ],
)
def test_an_amount_that_the_price_does_not_come_to_completes_no_note_until_it_is_confirmed(
    given: dict[str, Any], expected: str | None
) -> None:
    note = replace(NOTE, extraction={"trades": [build_trade(settled_amount=None).to_json()]})
    outcome = correct_trades(build_trade(**given), current=note).outcome
    assert outcome.reason is (ReviewReason.TOTALS_DO_NOT_ADD_UP if expected else None)
    confirmed = decide(build_review(ReviewAction.CONFIRM), outcome, profile=Profile.CONTRACT_NOTE, read=None).outcome
    assert confirmed.status is ResultStatus.COMPLETED


def test_amounts_that_a_reader_wrote_with_a_minus_are_no_slip_of_whoever_corrects_another_field() -> None:
    note = replace(NOTE, extraction={"trades": [build_trade(settled_amount=Decimal("-209.95")).to_json()]})
    corrected = build_trade(settled_amount=Decimal("-209.95"), account="12 34")
    assert correct_trades(corrected, current=note).outcome.reason is None


DAY = date(2026, 4, 1)


@pytest.mark.parametrize(
    ("given", "mistake"),
    [
        ({"settlement_date": date(2026, 3, 31)}, "trades.1: the settlement_date 2026-03-31 is before the trade_date"),
        ({"settlement_date": date(2027, 4, 5)}, "over a year after it"),
        ({"trade_date": date(2026, 4, 4), "settlement_date": date(2026, 4, 3)}, "give the one that is wrong"),
        ({"currency": "DEM"}, "trades.1: DEM was replaced by 2002, and the trade_date is 2026-04-01"),
        ({"foreign_currency": "HRK"}, "trades.1: HRK was replaced by 2023"),
        ({"trade_date": None, "settlement_date": DAY, "currency": "DEM"}, "and the settlement_date is 2026-04-01"),
        ({"settled_amount": Decimal("1.234")}, "trades.1: the settled_amount 1.234 has more decimals than money has"),
        ({"wkn": "716460"}, "trades.1: the wkn 716460 is not that of the isin DE0008404005"),
    ],
)
def test_what_excludes_each_other_is_refused_with_its_trade(given: dict[str, Any], mistake: str) -> None:
    with pytest.raises(ReviewRefused, match=mistake):
        correct_trades(build_trade(), build_trade(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"settlement_date": DAY},
        {"settlement_date": date(2026, 12, 1)},
        {"wkn": "840400"},
        {"isin": None, "wkn": "716460"},
        {"trade_date": date(1999, 4, 1), "settlement_date": date(1999, 4, 6), "currency": "DEM"},
    ],
)
def test_days_and_numbers_that_go_together_are_taken(given: dict[str, Any]) -> None:
    assert correct_trades(build_trade(), build_trade(**given)).outcome.status is ResultStatus.COMPLETED


def test_a_currency_that_a_reader_read_so_holds_up_no_correction_of_another_field() -> None:
    odd = build_trade(currency="DEM")
    note = replace(NOTE, extraction={"trades": [odd.to_json()]})
    assert correct_trades(replace(odd, account="12 34"), current=note).outcome.status is ResultStatus.COMPLETED


def test_days_that_a_reader_read_so_hold_up_no_correction_of_another_field() -> None:
    odd = build_trade(settlement_date=date(2026, 3, 31), wkn="716460")
    note = replace(NOTE, extraction={"trades": [build_trade().to_json(), odd.to_json()]})
    assert correct_trades(replace(odd, account="12 34"), current=note).outcome.status is ResultStatus.COMPLETED


def test_a_slip_in_a_quantity_is_not_forgotten_with_the_correction_of_another_field() -> None:
    note = replace(NOTE, extraction={"trades": [build_trade().to_json()]})
    slip = build_trade(quantity=Decimal(1))
    doubtful = correct_trades(slip, current=note).outcome
    review = build_review(ReviewAction.CORRECT, trades=[replace(slip, account="12 34").to_json()])

    def correct_account(current: DocumentOutcome) -> DocumentOutcome:
        return decide(review, current, profile=Profile.CONTRACT_NOTE, read=note.extraction).outcome

    assert correct_account(doubtful).reason is ReviewReason.TOTALS_DO_NOT_ADD_UP
    confirmed = decide(build_review(ReviewAction.CONFIRM), doubtful, profile=Profile.CONTRACT_NOTE, read=None).outcome
    assert correct_account(confirmed).status is ResultStatus.COMPLETED


def test_another_field_of_an_option_is_corrected_though_its_contracts_do_not_multiply() -> None:
    option = build_trade(quantity=Decimal("0.1"), price=Decimal("2050.001"), gross_amount=Decimal(205000))
    option = replace(option, settled_amount=Decimal("205004.95"))
    note = replace(NOTE, extraction={"trades": [option.to_json()]})
    assert correct_trades(replace(option, account="12 34"), current=note).outcome.reason is None


def test_a_trade_that_is_added_or_taken_away_is_evidence_as_a_whole() -> None:
    kept, other = (Trade.from_json(trade) for trade in (NOTE.extraction or {})["trades"])
    added = correct_trades(kept, other, build_trade()).changes
    assert [(change.field, change.former, change.given) for change in added] == [
        ("trades.2", None, build_trade().to_json())
    ]
    taken = correct_trades(kept).changes
    assert [(change.field, change.former, change.given) for change in taken] == [("trades.1", other.to_json(), None)]


@pytest.mark.parametrize("current", [UNREAD, SKIPPED], ids=["unread", "skipped"])
def test_a_person_gives_the_trades_of_what_no_reader_read(current: DocumentOutcome) -> None:
    outcome = correct_trades(build_trade(), current=current).outcome
    assert (outcome.status, outcome.document_type) == (ResultStatus.COMPLETED, "contract_note")
    assert correct_trades(build_trade(), current=current, document_type="activity_statement").outcome.document_type == (
        "activity_statement"
    )


def test_a_trade_that_a_note_takes_back_is_still_confirmed_by_a_person() -> None:
    outcome = correct_trades(build_trade(is_cancellation=True)).outcome
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.TRADE_CANCELLED)
    confirmed = decide(build_review(ReviewAction.CONFIRM), outcome, profile=Profile.CONTRACT_NOTE, read=None).outcome
    assert confirmed.status is ResultStatus.COMPLETED


@pytest.mark.parametrize(
    ("profile", "fields", "document_type"),
    [
        (Profile.CONTRACT_NOTE, {"currency": "USD"}, None),
        (Profile.CONTRACT_NOTE, {}, "invoice"),
        (Profile.INVOICE, {"trades": []}, None),
        (Profile.INVOICE, {}, "activity_statement"),
        (Profile.OBSERVATION, {"currency": "USD"}, None),
    ],
)
def test_an_invoice_has_no_trades_and_a_note_no_total(
    profile: Profile, fields: dict[str, Any], document_type: str | None
) -> None:
    review = replace(build_review(ReviewAction.CORRECT, **fields), document_type=document_type)
    with pytest.raises(ReviewRefused, match=profile.value):
        decide(review, UNREAD, profile=profile, read=None)
