"""`mailroom read`: what is shown of what the readers answer, and what is asked of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mailroom_cli import read
from mailroom_cli.__main__ import app
from mailroom_cli.read import describe_reading

READING: dict[str, Any] = {
    "file": "invoice.pdf",
    "status": "needs_review",
    "reason": "fields_missing",
    "document_type": "invoice",
    "confidence": 0.7,
    "reader": "layout-rules/2",
    "extraction": {"supplier_name": None, "total_gross": "119.00", "lines": [{"description": "Paper", "amount": "1"}]},
    "seconds": 0.02,
    "pages": 2,
}


def answer_with(monkeypatch: pytest.MonkeyPatch, readings: list[dict[str, Any]], code: int) -> None:
    """A process that answers as ingestion's does."""
    program = f"import sys; print({chr(10).join(json.dumps(reading) for reading in readings)!r}); sys.exit({code})"

    def start(*_: object) -> "subprocess.Popen[str]":
        return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, encoding="utf-8")

    monkeypatch.setattr(read, "_start_reader", start)


def test_a_reading_shows_its_outcome_and_the_fields_that_were_found() -> None:
    assert describe_reading(READING).splitlines() == [
        "invoice.pdf: needs_review / fields_missing (invoice, layout-rules/2, confidence 0.7, 2 page(s), 0.02 s)",
        "  total_gross     119.00",
        "  line            Paper  1",
    ]


def test_each_trade_is_a_line_of_what_is_known_of_it() -> None:
    trade = {"direction": "buy", "isin": None, "quantity": "10", "is_cancellation": False}
    shown = describe_reading({**READING, "extraction": {"trades": [trade, trade]}})
    assert shown.splitlines()[1:] == ["  trade           direction buy  quantity 10"] * 2


def test_the_text_is_shown_by_page_under_the_fields() -> None:
    shown = describe_reading({**READING, "extraction": None, "lines": [{"page": 2, "text": "Total  119.00"}]})
    assert shown.splitlines()[1:] == ["  page   2  Total  119.00"]


def test_with_json_each_file_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, [READING, {**READING, "file": "b.pdf"}], 0)
    result = CliRunner().invoke(app, ["read", "invoice.pdf", "b.pdf", "--json"])
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == ["invoice.pdf", "b.pdf"]
    assert result.exit_code == 0


def test_a_file_that_cannot_be_opened_is_said_and_gives_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, [{"file": "no.pdf", "error": "there is no such file"}], 1)
    result = CliRunner().invoke(app, ["read", "no.pdf"])
    assert "no.pdf: not read: there is no such file" in result.stdout
    assert result.exit_code == 1


def test_without_the_package_of_the_readers_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["read", "invoice.pdf"])
    assert isinstance(result.exception, read.ReadersMissing)
    assert "mailroom-ingestion" in str(result.exception)


def test_a_file_is_read_by_the_process_of_ingestion(tmp_path: Path) -> None:
    (tmp_path / "-note.txt").write_text("no document")
    result = CliRunner().invoke(app, ["read", str(tmp_path / "-note.txt"), "--json"])
    assert json.loads(result.stdout)["reason"] == "not_a_document"
