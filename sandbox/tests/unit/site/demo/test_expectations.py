from typing import Any

from mailroom_sandbox.site.demo.accounting import MailAccount, PartAccount, PartOutcome
from mailroom_sandbox.site.demo.expectations import Expectations, find_differences, load_expectations
from mailroom_sandbox.site.demo.mails import SAMPLES, find_mails

VALUES = {"invoice_number": "R-1", "total_gross": "119.00"}
TAKEN = {"filename": "r.pdf", "take": True, "sha256": "s1", "document": "r"}
NESTED = {"filename": "Rechnung.eml", "take": False, "reason": "too_large", "subject": "Rechnung"}


def expected(*parts: dict[str, Any]) -> Expectations:
    return Expectations({"a.eml": {"parts": list(parts)}}, {"r": VALUES})


def document(**changed: Any) -> dict[str, Any]:
    return {
        "content_sha256": "s1",
        "extraction": VALUES,
        "source_metadata": {"attachment_filename": "r.pdf"},
        **changed,
    }


def judged(expectations: Expectations, *parts: PartAccount) -> list[str]:
    return list(find_differences(expectations, [("a.eml", MailAccount("m", parts, None, None))]))


def taken(outcome: PartOutcome = PartOutcome.DOCUMENT, **changed: Any) -> PartAccount:
    return PartAccount("1", "r.pdf", outcome, None, document(**changed))


def left(filename: str | None, reason: str) -> PartAccount:
    return PartAccount("2", filename, PartOutcome.SKIPPED, reason, None)


def test_what_is_as_expected_differs_in_nothing() -> None:
    assert judged(expected(TAKEN, NESTED), taken(), left("Rechnung.eml", "too_large")) == []


def test_nested_mail_may_be_called_by_its_subject() -> None:
    assert judged(expected(NESTED), left("Rechnung", "too_large")) == []


def test_duplicate_counts_as_taken() -> None:
    assert judged(expected(TAKEN, TAKEN), taken(), taken(PartOutcome.DUPLICATE)) == []


def test_wrong_value_is_said() -> None:
    wrong = taken(extraction={"invoice_number": "R-2", "total_gross": "119.00"})
    assert judged(expected(TAKEN), wrong) == ["a.eml: r.pdf: invoice_number is 'R-2', must be 'R-1'"]


def test_part_left_instead_of_taken_is_said_from_both_sides() -> None:
    assert judged(expected(TAKEN), left("r.pdf", "empty")) == [
        "a.eml: r.pdf must become a document",
        "a.eml: r.pdf is skipped (empty) and not expected",
    ]


def test_other_reason_is_a_difference() -> None:
    assert judged(expected(NESTED), left("Rechnung.eml", "not_a_document"))[0] == (
        "a.eml: Rechnung.eml must be left as too_large"
    )


def test_inline_picture_that_outlook_does_not_list_is_not_missed() -> None:
    picture = {"filename": "logo.png", "take": False, "reason": "inline_picture"}
    nothing = [("a.eml", MailAccount("m", (), None, None))]
    assert list(find_differences(expected(picture), nothing, lists_inline=False)) == []
    assert list(find_differences(expected(picture), nothing)) == ["a.eml: logo.png must be left as inline_picture"]
    assert list(find_differences(expected(TAKEN), nothing, lists_inline=False)) == [
        "a.eml: r.pdf must become a document"
    ]


def test_a_picture_of_the_layout_may_be_left_for_either_of_two_reasons() -> None:
    picture = {"filename": "logo.png", "take": False, "reason": "inline_picture"}
    assert judged(expected(picture), left("logo.png", "referenced_by_body")) == []
    assert judged(expected(picture), left("logo.png", "empty")) != []


def test_mail_that_was_not_delivered_is_said() -> None:
    assert list(find_differences(expected(TAKEN), [])) == ["a.eml: not delivered"]


def test_every_sample_mail_has_its_expectation() -> None:
    assert {mail.name for mail in find_mails(SAMPLES)} == set(load_expectations(SAMPLES).mails)
