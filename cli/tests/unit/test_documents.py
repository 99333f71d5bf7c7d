"""`mailroom documents`: what is shown, and what is asked of the API."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner

from mailroom_cli import documents
from mailroom_cli.__main__ import app
from mailroom_common.errors import Rejected, Unavailable

ID = "6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10"
DOCUMENT = {
    "id": ID,
    "status": "needs_review",
    "skip_reason": None,
    "review_reason": "fields_missing",
    "version": 3,
    "source_metadata": {"attachment_filename": "scan.pdf"},
    "extraction": {"supplier_name": "Shop", "invoice_number": "7", "total_gross": "119.00", "currency": "EUR"},
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.content == b"down":
            return httpx.Response(503, json={"title": "The blob store is away"})
        if request.content == b"text":
            return httpx.Response(415, json={"title": "This is nothing that Mailroom reads"})
        if request.url.path == "/documents/export":
            return httpx.Response(200, content=b"id\r\nd1\r\n")
        if request.url.path in (f"/documents/{ID}/content", f"/documents/{ID}/pages/2"):
            return httpx.Response(200, content=b"\x89PNG\x00")
        if request.method == "GET" and request.url.path in ("/documents", f"/documents/{ID}/history"):
            return httpx.Response(200, json={"items": [DOCUMENT], "next_cursor": None})
        return httpx.Response(200, json=DOCUMENT)

    return answer_calls(monkeypatch, answer, documents)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["documents", *arguments])


def test_documents_are_listed_by_the_filters_of_the_api(calls: list[httpx.Request]) -> None:
    result = run("list", "-f", "status=needs_review", "-f", "supplier=shop")
    assert dict(calls[0].url.params) == {"limit": "200", "status": "needs_review", "supplier": "shop"}
    assert "119.00 EUR" in result.output
    assert "fields_missing" in result.output


def test_a_decision_names_the_version_that_was_seen(calls: list[httpx.Request]) -> None:
    assert run("confirm", ID, "--version", "2").exit_code == 0
    assert [(call.method, call.headers["if-match"]) for call in calls] == [("POST", '"2"')]
    run("reject", ID, "--comment", "an offer", "--reviewer", "anna")
    assert calls[-1].headers["if-match"] == '"3"'
    assert json.loads(calls[-1].content) == {"action": "reject", "comment": "an offer", "reviewer": "anna"}


def test_a_correction_gives_fields_and_takes_them_away(calls: list[httpx.Request]) -> None:
    run("correct", ID, "total_gross=119.00", "due_date=", "document_type=invoice", "--version", "1")
    assert json.loads(calls[0].content) == {
        "action": "correct",
        "document_type": "invoice",
        "fields": {"total_gross": "119.00", "due_date": None},
    }


def test_who_corrects_learns_how_a_value_that_is_doubted_is_confirmed(calls: list[httpx.Request]) -> None:
    result = run("correct", ID, "total_gross=119.00")
    assert (result.exit_code, result.stdout) == (0, "needs_review (fields_missing), version 3\n")
    assert f"mailroom documents confirm {ID} --version 3" in result.stderr
    assert "mailroom documents confirm" in run("correct", "--help").stdout
    assert "mailroom documents confirm" not in run("reject", ID).stderr


def test_a_total_that_is_not_known_is_no_currency_alone(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOCUMENT, "extraction", {"total_gross": None, "currency": "EUR"})
    assert "EUR" not in run("list").stdout


def test_a_correction_of_trades_gives_them_whole(calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch) -> None:
    trades = [{"quantity": "1", "isin": "X"}, {"quantity": "2"}]
    monkeypatch.setitem(DOCUMENT, "extraction", {"trades": trades})
    run("correct", ID, "trades.0.quantity=10", "trades.1=", "trades.2.is_cancellation=true", "trades.0.isin=")
    assert [call.method for call in calls] == ["GET", "POST"]
    assert calls[-1].headers["if-match"] == '"3"'
    assert json.loads(calls[-1].content)["fields"] == {
        "trades": [{"quantity": "10", "isin": None}, {"is_cancellation": True}]
    }
    for wrong in ("trades.x.quantity=1", "trades.0=1", "trades.0.is_cancellation=maybe", "trades.3.price=1"):
        assert isinstance(run("correct", ID, wrong).exception, Rejected)


@pytest.mark.parametrize("extraction", [None, {}, {"trades": []}])
def test_the_first_trade_of_a_note_is_entered(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch, extraction: Any
) -> None:
    monkeypatch.setitem(DOCUMENT, "extraction", extraction)
    assert run("correct", ID, "trades.0.quantity=10", "trades.0.isin=X").exit_code == 0
    assert json.loads(calls[-1].content)["fields"] == {"trades": [{"quantity": "10", "isin": "X"}]}
    refused = run("correct", ID, "trades.1.quantity=10").exception
    assert isinstance(refused, Rejected)
    assert "has no trade; trades.0 would add one" in str(refused)


def test_trades_that_were_all_taken_away_are_entered_anew(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOCUMENT, "extraction", {"trades": [{"quantity": "1"}]})
    assert run("correct", ID, "trades.0=", "trades.0.quantity=10").exit_code == 0
    assert json.loads(calls[-1].content)["fields"] == {"trades": [{"quantity": "10"}]}


def test_an_invoice_has_no_trades_to_correct(calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DOCUMENT, "profile", "invoice")
    assert "is an invoice" in str(run("correct", ID, "trades.0.quantity=10").exception)
    assert [call.method for call in calls] == ["GET"]


def test_what_is_no_pair_is_refused_before_any_call(calls: list[httpx.Request]) -> None:
    result = run("correct", ID, "total")
    assert (result.exit_code, "as total_gross=119.00" in result.stderr) == (2, True)
    assert calls == []


def test_a_filter_is_given_once_and_shown_by_an_example_of_its_own(calls: list[httpx.Request]) -> None:
    """Of two statuses the API would take one, and the export would lack the other's documents."""
    for command in ("list", "export"):
        assert "status is given twice" in run(command, "-f", "status=completed", "-f", "status=skipped").stderr
    assert "as status=needs_review" in run("list", "-f", "status").stderr
    assert run("correct", ID, "total_net=1", "total_net=2").exit_code == 2
    assert calls == []


def test_the_versions_of_a_document_are_shown(calls: list[httpx.Request]) -> None:
    run("show", ID, "--history")
    run("show", ID)
    assert [call.url.path for call in calls] == [f"/documents/{ID}/history", f"/documents/{ID}"]


def test_a_file_is_uploaded_under_its_name(calls: list[httpx.Request], tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-")
    result = run("upload", str(tmp_path / "scan.pdf"), "--profile", "contract_note")
    assert (calls[0].method, calls[0].content) == ("POST", b"%PDF-")
    assert dict(calls[0].url.params) == {"profile": "contract_note", "filename": "scan.pdf"}
    assert ID in result.output


def test_a_document_of_which_nothing_was_read_is_listed_with_its_file(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOCUMENT, "extraction", None)
    assert "scan.pdf" in run("list").stdout


def test_a_list_that_ends_at_its_limit_says_so(calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("list").stderr == ""
    monkeypatch.setattr(documents, "MAX_LISTED", 1)
    for options in ([], ["--json"]):
        assert "The newest 1 are shown: `mailroom documents export` has all" in run("list", *options).stderr


def test_a_refused_file_is_named_and_the_others_are_uploaded(calls: list[httpx.Request], tmp_path: Path) -> None:
    files = [tmp_path / "a.pdf", tmp_path / os.fsdecode(b"caf\xe9.pdf")]
    files[0].write_bytes(b"text")
    files[1].write_bytes(b"%PDF-")
    result = run("upload", *map(str, files))
    assert result.exit_code == 1
    assert f"{files[0]}: POST /documents answers 415" in result.stderr
    assert calls[-1].url.params["filename"] == "caf\ufffd.pdf"
    assert f"{ID}  needs_review  {tmp_path}/caf\\udce9.pdf" in result.stdout


def test_an_upload_that_is_cut_off_names_the_file_and_what_went_in(calls: list[httpx.Request], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.pdf", "b.pdf", "c.pdf")]
    for file, content in zip(files, (b"%PDF-", b"down", b"%PDF-"), strict=True):
        file.write_bytes(content)
    result = run("upload", *map(str, files))
    assert isinstance(result.exception, Unavailable)
    assert str(result.exception).startswith(f"{files[1]}: POST /documents answers 503")
    assert "Not sent yet: 1 of 3 files" in str(result.exception)
    assert f"{ID}  needs_review  {files[0]}" in result.stdout


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_uploaded(
    calls: list[httpx.Request], tmp_path: Path
) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-")
    result = run("upload", str(tmp_path / "none.pdf"), str(tmp_path), "/dev/zero", str(tmp_path / "scan.pdf"))
    assert result.exit_code == 1
    assert f"{tmp_path}/none.pdf: it cannot be read: No such file or directory" in result.stderr
    assert f"{tmp_path}: it is no file: name the files in it" in result.stderr
    assert "/dev/zero: it is no file" in result.stderr
    assert [call.url.params["filename"] for call in calls] == ["scan.pdf"]


def test_one_document_is_read_again(calls: list[httpx.Request]) -> None:
    assert f"documents show {ID} --history" in run("reprocess", ID).stdout
    assert [(call.method, call.url.path) for call in calls] == [("POST", f"/documents/{ID}/reprocess")]


def test_an_export_is_written_as_it_comes(calls: list[httpx.Request], tmp_path: Path) -> None:
    assert run("export", "-f", "status=completed").stdout_bytes == b"id\r\nd1\r\n"
    run("export", "--format", "jsonl", "-o", str(tmp_path / "all.jsonl"))
    assert (tmp_path / "all.jsonl").read_bytes() == b"id\r\nd1\r\n"
    assert [dict(call.url.params) for call in calls] == [
        {"status": "completed", "format": "csv"},
        {"format": "jsonl"},
    ]


@pytest.mark.parametrize(("command", "path"), [(["content", ID], "content"), (["page", ID, "2"], "pages/2")])
def test_a_document_and_a_page_of_it_are_saved_byte_for_byte(
    calls: list[httpx.Request], tmp_path: Path, command: list[str], path: str
) -> None:
    assert run(*command, "-o", str(tmp_path / "saved")).exit_code == 0
    assert (tmp_path / "saved").read_bytes() == b"\x89PNG\x00"
    assert [call.url.path for call in calls] == [f"/documents/{ID}/{path}"]
    assert run("page", ID, "0").exit_code == 2


def test_a_password_comes_from_standard_input_and_from_no_argument(calls: list[httpx.Request]) -> None:
    result = CliRunner().invoke(app, ["documents", "password", ID], input="open sesame\n")
    assert (calls[0].method, calls[0].url.path) == ("POST", f"/documents/{ID}/password")
    assert json.loads(calls[0].content) == {"password": "open sesame"}
    assert "sesame" not in result.output
    assert run("password", ID, "open sesame").exit_code != 0
    assert run("password", ID).exit_code != 0
    assert len(calls) == 1
