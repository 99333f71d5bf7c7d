"""The comparison finds each way in which mails and documents can differ; a checker that cannot fail proves nothing."""

import pytest
from mail_ledger.comparison import (
    DeliveredMail,
    FiledDocument,
    RecordedMessage,
    compare_ledger,
    looks_like_dropped_page,
)

LEDGER = [DeliveredMail("s1", "m1", ("a", "b")), DeliveredMail("s1", "m2", ("a",)), DeliveredMail("s2", "m3", ("a",))]
MESSAGES = [RecordedMessage(mail.doc_source_id, mail.message_id, "closed") for mail in LEDGER]
DOCUMENTS = [
    FiledDocument("d1", "s1", "a", "completed"),
    FiledDocument("d2", "s1", "b", "needs_review"),
    FiledDocument("d3", "s2", "a", "completed"),
]


def find_kinds(
    ledger: list[DeliveredMail] = LEDGER,
    messages: list[RecordedMessage] = MESSAGES,
    documents: list[FiledDocument] = DOCUMENTS,
) -> list[str]:
    return [difference.kind for difference in compare_ledger(ledger, messages, documents)]


def test_same_content_in_one_mailbox_is_one_document_and_in_two_mailboxes_two() -> None:
    assert find_kinds() == []


def test_a_page_that_was_dropped_misses_its_mails_and_their_contents() -> None:
    assert find_kinds(messages=MESSAGES[:2], documents=DOCUMENTS[:2]) == ["unrecorded", "missing"]


def test_a_dropped_page_is_told_from_work_that_is_not_done_yet() -> None:
    assert looks_like_dropped_page(compare_ledger(LEDGER, MESSAGES[:2], DOCUMENTS[:2]))
    assert not looks_like_dropped_page(compare_ledger(LEDGER, [], []))
    assert not looks_like_dropped_page(compare_ledger(LEDGER, MESSAGES, DOCUMENTS[:2]))
    assert not looks_like_dropped_page(compare_ledger(LEDGER, MESSAGES, DOCUMENTS))


def test_a_mail_that_was_recorded_without_its_document_is_missing() -> None:
    assert find_kinds(documents=DOCUMENTS[1:]) == ["missing"]


def test_a_document_of_the_right_content_in_another_mailbox_does_not_count() -> None:
    moved = FiledDocument("d3", "s1", "a", "completed")
    assert find_kinds(documents=[*DOCUMENTS[:2], moved]) == ["missing", "doubled"]


def test_a_content_that_was_filed_twice_is_doubled() -> None:
    assert find_kinds(documents=[*DOCUMENTS, FiledDocument("d4", "s2", "a", "completed")]) == ["doubled"]


def test_a_document_that_no_mail_brought_is_surplus() -> None:
    assert find_kinds(documents=[*DOCUMENTS, FiledDocument("d4", "s2", "c", "completed")]) == ["surplus"]


def test_a_message_that_the_provider_does_not_have_is_unknown() -> None:
    assert find_kinds(messages=[*MESSAGES, RecordedMessage("s2", "m4", "closed")]) == ["unknown"]


def test_a_message_that_was_recorded_twice_is_repeated() -> None:
    assert find_kinds(messages=[*MESSAGES, MESSAGES[0]]) == ["repeated"]


@pytest.mark.parametrize("state", ["open", "parked"])
def test_a_message_that_is_not_closed_is_a_difference(state: str) -> None:
    assert find_kinds(messages=[*MESSAGES[:2], RecordedMessage("s2", "m3", state)]) == ["open"]


@pytest.mark.parametrize("status", ["pending", "processing", "failed", "skipped"])
def test_a_document_that_was_not_read_is_a_difference(status: str) -> None:
    assert find_kinds(documents=[*DOCUMENTS[:2], FiledDocument("d3", "s2", "a", status)]) == ["unread"]
