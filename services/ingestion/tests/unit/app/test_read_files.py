"""Files read without a stack, in the confined processes that the worker reads in."""

import json
import os
from pathlib import Path

import pytest
from generated_invoices import CII, CONTRACT_NOTE, text_page
from model_answers import ROWS, change_answer
from scripted_endpoint import open_endpoint

from ingestion.app import read_files
from mailroom_common.events import Profile


def test_each_file_becomes_a_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "invoice.pdf").write_bytes(CII(number="RE-9").pdf())
    (tmp_path / "minutes.pdf").write_bytes(text_page("Minutes  of the meeting"))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    names = ("invoice.pdf", "minutes.pdf", "broken.pdf", "none.pdf")
    code = read_files.main(["--text", *(str(tmp_path / name) for name in names)])
    invoice, minutes, broken, none = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (invoice["status"], invoice["extraction"]["invoice_number"]) == ("completed", "RE-9")
    assert (minutes["reason"], minutes["lines"]) == ("not_an_invoice", [{"page": 1, "text": "Minutes  of the meeting"}])
    assert (broken["status"], broken["reason"]) == ("needs_review", "unreadable")
    assert none["error"] == "there is no such file"
    assert code == 1


def test_a_name_that_is_no_utf_8_is_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.pdf")).write_bytes(b"")
    names = (os.fsdecode(b"caf\xe9.pdf"), os.fsdecode(b"no\xe9.pdf"))
    assert read_files.main([str(tmp_path / name) for name in names]) == 1
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [reading["file"] for reading in shown] == [f"{tmp_path}/caf\\udce9.pdf", f"{tmp_path}/no\\udce9.pdf"]
    assert shown[0]["reason"] == "not_a_document"


def test_a_note_is_read_for_its_trades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.pdf").write_bytes(text_page(CONTRACT_NOTE))
    (tmp_path / "minutes.pdf").write_bytes(text_page("Dividendengutschrift\nISIN DE0008404005\nNetto 5,00 EUR"))
    names = ("note.pdf", "minutes.pdf")
    assert read_files.main(["--profile", "contract_note", *(str(tmp_path / name) for name in names)]) == 0
    note, income = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (note["status"], note["document_type"], note["reader"]) == ("completed", "contract_note", "trade-rules/3")
    assert [trade["settled_amount"] for trade in note["extraction"]["trades"]] == ["209.95"]
    assert (income["status"], income["reason"]) == ("skipped", "no_trade")


def test_a_profile_without_a_reader_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.pdf").write_bytes(text_page("Buy 5 shares"))
    assert read_files.main(["--profile", "observation", str(tmp_path / "note.pdf")]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "no_reader_yet"


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_files.main([str(tmp_path)]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "it is no file: name the files in it"


async def test_with_a_model_it_is_asked_as_for_a_document_of_the_tenant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(text_page("\n".join(ROWS).replace("Invoice RE-2026/17", "INVOICE\nfor you: RE-2026/17")))
    answer = {"message": {"content": change_answer()}, "finish_reason": "stop"}
    async with open_endpoint((200, {"choices": [answer], "usage": {}})) as endpoint:
        settings = {"API": "openai", "URL": f"{endpoint.url}/v1", "MODEL": "m", "USE": "acme:invoice:unsure"}
        for name, value in settings.items():
            monkeypatch.setenv(f"MAILROOM_LLM_{name}", value)
        for tenant in (None, "other", "acme"):
            await read_files._read_and_print([file], Profile.INVOICE, with_text=False, tenant_id=tenant)
    readings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(reading["status"], reading["extraction"]["invoice_number"]) for reading in readings] == [
        ("needs_review", None),
        ("needs_review", None),
        ("completed", "RE-2026/17"),
    ]
    assert len(endpoint.bodies) == 1


def test_a_model_that_no_setting_names_is_a_mistake_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_files.main(["--model", "acme", str(tmp_path / "invoice.pdf")]) == 78
    assert "MAILROOM_LLM_USE" in capsys.readouterr().err
