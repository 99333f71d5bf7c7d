import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.model_use import ModelTask, ModelUses, is_model_asked, lack_model
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import Transcript
from mailroom_common.events import Profile, ResultStatus

PAGE = Transcript.from_rows(["Invoice 1"])
DONE = DocumentOutcome(status=ResultStatus.COMPLETED, extraction={})
IN_REVIEW = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.FIELDS_MISSING, extraction={})
UNREAD = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.UNREADABLE)
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE)


def test_no_model_is_asked_unless_it_is_named() -> None:
    assert not ModelUses.parse("")
    assert not ModelUses.parse("acme:invoice:off")
    assert ModelUses.parse("").find_tasks("acme", Profile.INVOICE) == frozenset()


def test_a_tenants_own_entries_go_before_those_of_all() -> None:
    uses = ModelUses.parse("*:invoice:unsure, acme:invoice:classify,acme:invoice:extract,private:invoice:off")
    assert uses.find_tasks("acme", Profile.INVOICE) == {ModelTask.CLASSIFY, ModelTask.EXTRACT}
    assert uses.find_tasks("other", Profile.INVOICE) == {ModelTask.UNSURE}
    assert uses.find_tasks("private", Profile.INVOICE) == frozenset()
    assert uses.find_tasks("acme", Profile.CONTRACT_NOTE) == frozenset()


@pytest.mark.parametrize(
    "text", ["acme", "acme:invoice", ":invoice:extract", "acme:invoice:all", "a:observation:extract"]
)
def test_an_entry_that_asks_for_nothing_there_is_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"tenant:profile:task|profiles invoice"):
        ModelUses.parse(text)


@pytest.mark.parametrize(
    ("task", "outcome", "is_asked"),
    [
        (ModelTask.CLASSIFY, SKIPPED, True),
        (ModelTask.CLASSIFY, DONE, True),
        (ModelTask.EXTRACT, SKIPPED, False),
        (ModelTask.EXTRACT, DONE, True),
        (ModelTask.UNSURE, SKIPPED, False),
        (ModelTask.UNSURE, DONE, False),
        (ModelTask.UNSURE, IN_REVIEW, True),
        (ModelTask.EXTRACT, UNREAD, False),
    ],
)
def test_the_task_says_of_which_documents_it_is_asked(
    task: ModelTask, outcome: DocumentOutcome, is_asked: bool
) -> None:
    assert is_model_asked(frozenset({task}), outcome, PAGE) is is_asked


def test_what_is_exact_or_has_no_text_to_check_against_is_never_asked_about() -> None:
    tasks = frozenset({ModelTask.CLASSIFY, ModelTask.EXTRACT})
    assert not is_model_asked(tasks, DONE, Transcript("application/pdf", 1, PAGE.lines, {"document_type": "invoice"}))
    assert not is_model_asked(tasks, IN_REVIEW, Transcript("application/pdf", 1))
    assert not is_model_asked(frozenset(), IN_REVIEW, PAGE)


def test_a_document_that_a_model_could_be_asked_about_misses_it() -> None:
    assert lack_model(IN_REVIEW, PAGE).missing_readers.model
    assert not lack_model(IN_REVIEW, Transcript("application/pdf", 1)).missing_readers.model
