from ingestion_fakes import build_trade

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import PDF, Transcript
from mailroom_common.events import Profile, ResultStatus

TRADES = Extraction("contract_note", {"trades": [build_trade().to_json()]}, 0.9, "trades/1")


def test_trades_are_confirmed_from_the_least_confidence_on() -> None:
    outcome = ExtractionRouter(0.9).route_extraction(TRADES, (), "source-1")
    assert (outcome.status, outcome.reason) == (ResultStatus.COMPLETED, None)
    outcome = ExtractionRouter(0.91).route_extraction(TRADES, (), "source-1")
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, "confidence_low")
    assert outcome.extraction == TRADES.fields


def test_a_doc_source_may_ask_for_more_or_less_than_others() -> None:
    router = ExtractionRouter(0.9, {"careful": 1.0, "bold": 0.5})
    statuses = [router.route_extraction(TRADES, (), source).status for source in ("careful", "bold", "other", None)]
    assert statuses == ["needs_review", "completed", "completed", "completed"]


def test_what_a_second_reader_completed_is_for_a_person_where_its_doc_source_asks_for_more() -> None:
    router = ExtractionRouter(by_doc_source={"careful": 0.95})
    assisted = DocumentOutcome(status=ResultStatus.COMPLETED, extraction={}, confidence=0.9, reader="both/1")
    assert router.require_confidence(assisted, "other") == assisted
    found = router.require_confidence(assisted, "careful")
    assert (found.status, found.reason, found.extraction) == (ResultStatus.NEEDS_REVIEW, "confidence_low", {})


def test_trades_that_a_second_reader_completed_need_the_confidence_of_trades() -> None:
    assisted = DocumentOutcome(status=ResultStatus.COMPLETED, document_type="contract_note", confidence=0.8)
    assert ExtractionRouter().require_confidence(assisted, "other").reason == "confidence_low"


def test_a_doubt_of_a_second_reader_stays_the_reason_where_its_doc_source_asks_for_more() -> None:
    doubtful = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.READERS_DISAGREE, confidence=0.5)
    assert ExtractionRouter(by_doc_source={"careful": 0.95}).require_confidence(doubtful, "careful") == doubtful


def test_a_reason_of_the_content_comes_before_a_low_confidence() -> None:
    extraction = Extraction("contract_note", {"trades": []}, 0.1, "trades/1")
    assert ExtractionRouter(0.9).route_extraction(extraction, (), None).reason == "fields_missing"


def test_what_is_nothing_for_its_doc_source_is_skipped_as_that() -> None:
    router, nothing = ExtractionRouter(), Classification(None, 0.9)
    reasons = [
        router.route_unwanted(profile, nothing, Transcript(PDF, 1)).reason
        for profile in (Profile.INVOICE, Profile.CONTRACT_NOTE)
    ]
    assert reasons == ["not_an_invoice", "no_trade"]
