from typing import Any

import pytest

from mailroom_sandbox.site.demo.accounting import PartOutcome, build_mail_account


def message(*parts: dict[str, Any], state: str = "closed", **reasons: str) -> dict[str, Any]:
    return {
        "message_id": "m",
        "state": state,
        "reason": None,
        "skip_reason": None,
        "parked_reason": None,
        "parts": list(parts),
    } | reasons


def part(**changed: Any) -> dict[str, Any]:
    taken = {
        "part_path": "1",
        "filename": "a.pdf",
        "stored": True,
        "skip_reason": None,
        "attachment_id": "A",
        "document_id": "A",
    }
    return {**taken, **changed}


def left(reason: str | None) -> dict[str, Any]:
    return part(stored=False, skip_reason=reason, attachment_id=None, document_id=None)


DONE = {"A": {"id": "A", "status": "completed"}}


def test_part_that_became_a_document_is_accounted_for() -> None:
    account = build_mail_account("m", {"m": message(part())}, DONE)
    assert account.missing is None
    assert [(each.outcome, each.document) for each in account.parts] == [(PartOutcome.DOCUMENT, DONE["A"])]


def test_part_with_the_content_of_another_is_a_recorded_duplicate() -> None:
    account = build_mail_account("m", {"m": message(part(attachment_id="B"))}, DONE)
    assert account.missing is None
    assert [each.outcome for each in account.parts] == [PartOutcome.DUPLICATE]


def test_part_left_with_its_reason_is_accounted_for() -> None:
    account = build_mail_account("m", {"m": message(left("signature"))}, {})
    assert account.missing is None
    assert [(each.outcome, each.reason) for each in account.parts] == [(PartOutcome.SKIPPED, "signature")]


def test_mail_without_parts_is_accounted_for_once_it_is_closed() -> None:
    assert build_mail_account("m", {"m": message(skip_reason="no_document_words")}, {}).missing is None
    assert build_mail_account("m", {"m": message(state="open")}, {}).missing == "message is open"


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_unfinished_document_is_waited_for(status: str) -> None:
    account = build_mail_account("m", {"m": message(part(), state="open")}, {"A": {"id": "A", "status": status}})
    assert account.missing == "no result yet for a.pdf"


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ({}, "not seen by the sync yet"),
        ({"m": message(part(document_id=None), state="open")}, "no result yet for a.pdf"),
        ({"m": message(part(document_id="gone"))}, "no result yet for a.pdf"),
        ({"m": message(left(None))}, "skipped without a reason: a.pdf"),
        ({"m": message(state="parked", parked_reason="unavailable")}, "parked: unavailable"),
    ],
)
def test_what_is_lost_or_unexplained_is_said(messages: dict[str, Any], said: str) -> None:
    assert build_mail_account("m", messages, {}).missing == said
