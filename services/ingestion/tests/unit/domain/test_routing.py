from dataclasses import replace
from typing import Any

import orjson
import pytest

from ingestion.domain import routing
from ingestion.domain.invoice import Invoice, InvoiceLine
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Classification, Extraction, route_extraction
from ingestion.domain.transcript import PDF, Transcript
from mailroom_common.events import Profile, ResultStatus

FIELDS = {
    **Invoice().to_json(),
    "supplier_name": "Muster GmbH",
    "invoice_number": "R-1",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "119.00",
}


def extraction(changed: dict[str, Any] | None = None, *, doubts: tuple[str, ...] = ()) -> Extraction:
    return Extraction("invoice", {**FIELDS, **(changed or {})}, 0.9, "reader/1", doubts)


def test_an_invoice_that_says_all_that_is_needed_is_completed() -> None:
    outcome = route_extraction(extraction())
    assert (outcome.status, outcome.reason, outcome.reader) == (ResultStatus.COMPLETED, None, "reader/1")


def test_what_could_not_be_opened_whole_is_for_a_person_and_a_document_is_not() -> None:
    outcome = routing.route_container("message/rfc822")
    assert outcome is not None
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "container_unreadable")
    assert routing.route_container("application/pdf") is None


@pytest.mark.parametrize("missing", ["supplier_name", "invoice_number", "issue_date", "currency", "total_gross"])
def test_without_a_field_that_booking_needs_a_person_looks(missing: str) -> None:
    outcome = route_extraction(extraction({missing: None}))
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "fields_missing")
    assert outcome.extraction is not None


PAGE_TOTALS = {"page_totals": {"total_gross": "125.00", "total_net": "100.00", "total_tax": "20.00"}}


def test_a_total_that_the_page_speaks_against_is_for_a_person_with_a_reason_that_says_so() -> None:
    outcome = route_extraction(extraction({"total_gross": None, **PAGE_TOTALS}))
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "totals_do_not_add_up")
    assert (outcome.extraction or {})["page_totals"] == PAGE_TOTALS["page_totals"]


@pytest.mark.parametrize("missing", [{"currency": None, **PAGE_TOTALS}, {"page_totals": {"total_tax": "20.00"}}])
def test_what_is_missing_beside_the_total_goes_before_what_speaks_against_it(missing: dict[str, Any]) -> None:
    assert route_extraction(extraction({"total_gross": None, **missing})).review_reason == "fields_missing"


def test_what_the_page_speaks_against_goes_once_another_reader_is_sure_of_the_total() -> None:
    outcome = route_extraction(extraction(PAGE_TOTALS))
    assert (outcome.status, outcome.extraction) == (ResultStatus.COMPLETED, FIELDS)


@pytest.mark.parametrize("name", ["-", "***", "\u200b"])
def test_a_supplier_whose_name_has_no_letter_is_missing(name: str) -> None:
    """Its account would be compared with nobody's."""
    assert route_extraction(extraction({"supplier_name": name})).review_reason == "fields_missing"


@pytest.mark.parametrize("settled", [ReviewReason.IBAN_NOT_ON_PAGE, ReviewReason.SUPPLIER_UNCERTAIN])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"currency": None}, "fields_missing"),
        ({"total_net": "100.00", "total_tax": "7.00"}, "totals_do_not_add_up"),
    ],
)
def test_what_a_known_supplier_settles_is_the_last_that_is_doubted(
    changed: dict[str, Any], reason: str | None, settled: ReviewReason
) -> None:
    """It completes once the account is known: nothing else may be forgotten with that."""
    outcome = route_extraction(replace(extraction(changed), review_reason=settled))
    assert outcome.review_reason == (reason or settled)
    refused = routing.route_archive_refusal(outcome)
    assert refused.review_reason == (reason or "archive_refused")


def test_totals_that_do_not_add_up_are_shown_and_not_believed() -> None:
    outcome = route_extraction(extraction({"total_net": "100.00", "total_tax": "7.00"}))
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "totals_do_not_add_up")


def test_a_page_that_contradicts_its_xml_needs_review() -> None:
    outcome = route_extraction(extraction(doubts=("total_gross",)))
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "page_and_xml_disagree")


def test_an_extraction_larger_than_a_record_is_left_out_whole_and_needs_review() -> None:
    line = {**InvoiceLine().to_json(), "description": "ü" * 200, "amount": "1.00"}
    outcome = route_extraction(extraction({"lines": [line] * 2000}))
    assert (outcome.status, outcome.review_reason) == (ResultStatus.NEEDS_REVIEW, "extraction_too_large")
    assert outcome.extraction is None
    assert route_extraction(extraction({"lines": [line] * 1000})).extraction is not None


def test_an_extraction_of_exactly_what_a_record_holds_is_kept() -> None:
    fields = dict(extraction({"supplier_name": ""}).fields)
    room = routing._MAX_EXTRACTION_BYTES - len(orjson.dumps(fields))
    assert route_extraction(extraction({"supplier_name": "x" * room})).extraction is not None
    assert route_extraction(extraction({"supplier_name": "x" * (room + 1)})).extraction is None


def test_what_is_no_invoice_is_skipped_with_its_reason() -> None:
    outcome = routing.route_unwanted(Profile.INVOICE, Classification(None, 0.8), Transcript(PDF, 1))
    assert (outcome.status, outcome.skip_reason, outcome.review_reason) == (
        ResultStatus.SKIPPED,
        "not_an_invoice",
        None,
    )


def test_a_copy_that_the_archive_never_takes_is_for_a_person_to_see_to() -> None:
    done = routing.route_archive_refusal(route_extraction(extraction()))
    assert (done.status, done.reason, done.extraction) == (ResultStatus.NEEDS_REVIEW, "archive_refused", FIELDS)
    note = routing.route_without_reader(Profile.OBSERVATION)
    assert note is not None
    assert routing.route_archive_refusal(note).reason == "archive_refused"


def test_a_doubt_about_what_was_read_comes_before_the_missing_copy() -> None:
    assert routing.route_archive_refusal(route_extraction(extraction({"currency": None}))).reason == "fields_missing"


@pytest.mark.parametrize(
    ("content_type", "reason"), [("application/pdf", "no_text_layer"), ("image/png", "image_needs_ocr")]
)
def test_what_has_no_text_waits_for_a_person_and_says_why(content_type: str, reason: str) -> None:
    assert routing.route_without_text(Transcript(content_type, 1)).review_reason == reason


def test_what_could_not_be_read_keeps_a_document_from_being_skipped() -> None:
    for reason in (ReviewReason.NO_TEXT_LAYER, ReviewReason.EMBEDDED_FILES_NOT_READ, ReviewReason.PAGES_NOT_READ):
        outcome = routing.route_unwanted(
            Profile.INVOICE, Classification(None, 0.8), Transcript(PDF, 2, unread=(reason,))
        )
        assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, reason)


def test_a_page_without_text_says_why_it_has_none() -> None:
    garbled = Transcript(PDF, 1, unread=(ReviewReason.TEXT_GARBLED,))
    assert routing.route_without_text(garbled).review_reason == "text_garbled"


def test_a_field_that_is_missing_may_be_where_nothing_was_read() -> None:
    unread = (ReviewReason.NO_TEXT_LAYER,)
    assert route_extraction(extraction({"currency": None}), unread).reason == "no_text_layer"
    assert route_extraction(extraction(), unread).status is ResultStatus.COMPLETED


@pytest.mark.parametrize(
    "reason", [ReviewReason.XML_UNREADABLE, ReviewReason.SEVERAL_E_INVOICES, ReviewReason.SEVERAL_INVOICES]
)
def test_an_xml_that_is_broken_or_not_the_only_one_is_said_whatever_the_page_says(reason: ReviewReason) -> None:
    outcome = route_extraction(extraction(), (ReviewReason.NO_TEXT_LAYER, reason))
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, reason)
    assert outcome.extraction == FIELDS


def test_an_xml_beside_a_page_that_is_a_picture_is_not_believed() -> None:
    read = replace(extraction(), review_reason=ReviewReason.NO_TEXT_LAYER)
    assert route_extraction(read).reason == "no_text_layer"


@pytest.mark.parametrize("reason", ["password_required", "unreadable", "reader_limit"])
def test_a_file_that_cannot_be_read_waits_for_a_person(reason: str) -> None:
    assert routing.route_unreadable(reason).review_reason == reason


def test_bytes_that_are_no_document_are_skipped() -> None:
    assert routing.route_unreadable("not_a_document").skip_reason == "not_a_document"


def test_a_profile_without_a_reader_says_so_instead_of_guessing() -> None:
    end = routing.route_without_reader(Profile.OBSERVATION)
    assert end is not None
    assert (end.status, end.reason) == (ResultStatus.NEEDS_REVIEW, "no_reader_yet")
    assert routing.route_without_reader(Profile.INVOICE) is None
    assert routing.route_without_reader(Profile.CONTRACT_NOTE) is None


def test_a_note_that_says_it_is_no_trade_is_skipped_as_that() -> None:
    outcome = routing.route_unwanted(Profile.CONTRACT_NOTE, Classification(None, 0.9), Transcript(PDF, 1))
    assert (outcome.status, outcome.skip_reason) == (ResultStatus.SKIPPED, "no_trade")
