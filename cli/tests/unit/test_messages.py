"""`mailroom messages`: which mails are shown, and what is asked of the API."""

import json
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner

from mailroom_cli import messages
from mailroom_cli.__main__ import app
from sync_engine.domain.message_outcome import MessageOutcome

ID = "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11"


def build_message(message_id: str, outcome: str, reason: str | None = None) -> dict[str, Any]:
    named = [one for one in (reason or "").split(", ") if one != "no_document_words"]
    return {
        "message_id": message_id,
        "outcome": outcome,
        "reason": reason,
        "received_at": "2026-11-30T12:00:00Z",
        "from": "billing@supplier.example",
        "subject": None,
        "part_reasons": [{"part_path": "1", "filename": f"{message_id}.pdf", "reason": one} for one in named],
    }


PAGES = {
    None: [
        build_message("m5", "filed"),
        build_message("m4", "needs_review", "fields_missing, too_large"),
        build_message("m3", "not_filed", "no_document_words"),
    ],
    "p2": [build_message("m2", "waiting"), build_message("m1", "failed", "reader_crashed")],
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    made: list[tuple[str, dict[str, str]]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        made.append((request.url.path, query))
        if request.url.path == "/doc-sources":
            items: list[dict[str, Any]] = [{"id": ID, "address": "ap@company.example"}]
            return httpx.Response(200, json={"items": items, "next_cursor": None})
        cursor = query.get("cursor")
        return httpx.Response(200, json={"items": PAGES[cursor], "next_cursor": None if cursor else "p2"})

    answer_calls(monkeypatch, answer, messages)
    return made


def list_messages(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["messages", "list", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return [message["message_id"] for message in json.loads(result.stdout)]


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((), ["m4", "m3", "m1"]),
        (("--outcome", "filed"), ["m5"]),
        (("--outcome", "needs_review"), ["m4"]),
        (("--reason", "too_large"), ["m4"]),
        (("--reason", "large"), []),
        (("--newest", "2"), ["m4"]),
        (("--newest", "4"), ["m4", "m3"]),
    ],
)
def test_what_was_not_filed_is_shown_unless_another_outcome_is_asked_for(
    arguments: tuple[str, ...], shown: list[str]
) -> None:
    assert list_messages(*arguments) == shown


def test_every_outcome_of_the_api_can_be_asked_for_and_no_other(calls: list[tuple[str, dict[str, str]]]) -> None:
    assert set(messages.OUTCOMES) == {outcome.value for outcome in MessageOutcome}
    refused = CliRunner().invoke(app, ["messages", "list", "--outcome", "notfiled"])
    assert (refused.exit_code, calls) == (2, [])


def test_no_page_is_asked_for_that_is_not_looked_at(calls: list[tuple[str, dict[str, str]]]) -> None:
    list_messages("--newest", "3")
    assert calls == [("/messages", {"limit": "200"})]


def test_one_source_is_asked_for_by_its_address(calls: list[tuple[str, dict[str, str]]]) -> None:
    list_messages("--source", "ap@company.example")
    assert calls[-1] == ("/messages", {"limit": "200", "doc_source_id": ID, "cursor": "p2"})


@pytest.mark.usefixtures("calls")
def test_each_mail_is_a_line_with_its_reason_and_the_last_one_says_how_many_were_looked_at() -> None:
    result = CliRunner().invoke(app, ["messages", "list"])
    lines = result.output.splitlines()
    assert lines[1].split("  ")[:2] == ["needs_review", "fields_missing, too_large"]
    assert lines[-1] == "3 of the newest 5 mails"


@pytest.mark.usefixtures("calls")
def test_the_files_that_are_the_reason_are_named() -> None:
    result = CliRunner().invoke(app, ["messages", "list"])
    assert "fields_missing: m4.pdf, too_large: m4.pdf" in result.output
    assert "  m1.pdf  " in result.output


@pytest.mark.usefixtures("calls")
def test_a_reason_that_none_has_is_answered_with_those_that_there_are() -> None:
    result = CliRunner().invoke(app, ["messages", "list", "--reason", "large"])
    assert "fields_missing, no_document_words, reader_crashed, too_large" in result.output
