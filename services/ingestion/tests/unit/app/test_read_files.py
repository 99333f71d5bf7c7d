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
from mailroom_common.parser.pool import ParserPool
from mailroom_common.settings import ParserSettings, load_settings


def test_each_file_becomes_a_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "invoice.pdf").write_bytes(CII(number="RE-9").pdf())
    (tmp_path / "minutes.pdf").write_bytes(text_page("Minutes  of the meeting"))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    # Bytes that are no UTF-8 are legal in a file's name, and no JSON holds them: they are escaped.
    odd_name = os.fsdecode(b"caf\xe9.pdf")
    (tmp_path / odd_name).write_bytes(b"")
    names = ("invoice.pdf", "minutes.pdf", "broken.pdf", "none.pdf", odd_name)
    code = read_files.main(["--text", *(str(tmp_path / name) for name in names)])
    invoice, minutes, broken, none, odd = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (invoice["status"], invoice["extraction"]["invoice_number"]) == ("completed", "RE-9")
    assert (minutes["reason"], minutes["lines"]) == ("not_an_invoice", [{"page": 1, "text": "Minutes  of the meeting"}])
    assert (broken["status"], broken["reason"]) == ("needs_review", "unreadable")
    assert none["error"] == "there is no such file"
    assert (odd["file"], odd["reason"]) == (f"{tmp_path}/caf\\udce9.pdf", "not_a_document")
    assert code == 1


def test_a_note_is_read_for_its_trades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.pdf").write_bytes(text_page(CONTRACT_NOTE))
    (tmp_path / "minutes.pdf").write_bytes(text_page("Dividendengutschrift\nISIN DE0008404005\nNetto 5,00 EUR"))
    names = ("note.pdf", "minutes.pdf")
    assert read_files.main(["--profile", "contract_note", *(str(tmp_path / name) for name in names)]) == 0
    note, income = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (note["status"], note["document_type"], note["reader"]) == ("completed", "contract_note", "trade-rules/8")
    assert [trade["settled_amount"] for trade in note["extraction"]["trades"]] == ["209.95"]
    assert (income["status"], income["reason"]) == ("skipped", "no_trade")


async def test_what_no_reader_is_for_needs_no_process(tmp_path: Path) -> None:
    pool = ParserPool()  # it starts no process before its block
    (tmp_path / "note.pdf").write_bytes(text_page("Buy 5 shares"))
    unread = await read_files.read_file(pool, tmp_path / "note.pdf", Profile.OBSERVATION)
    assert unread["reason"] == "no_reader_yet"
    folder = await read_files.read_file(pool, tmp_path, Profile.INVOICE)
    assert folder["error"] == "it is no file: name the files in it"


async def test_with_a_model_it_is_asked_as_for_a_document_of_the_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(text_page("\n".join(ROWS).replace("Invoice RE-2026/17", "INVOICE\nfor you: RE-2026/17")))
    answer = {"message": {"content": change_answer()}, "finish_reason": "stop"}
    async with open_endpoint((200, {"choices": [answer], "usage": {}})) as endpoint:
        settings = {"API": "openai", "URL": f"{endpoint.url}/v1", "MODEL": "m", "USE": "acme:invoice:unsure"}
        for name, value in settings.items():
            monkeypatch.setenv(f"MAILROOM_LLM_{name}", value)
        readings = []
        async with read_files.open_reading_pool(load_settings(ParserSettings)) as pool:
            for tenant in (None, "other", "acme"):
                async with read_files.open_tenant_assistant(pool, tenant) as assistant:
                    readings.append(await read_files.read_file(pool, file, Profile.INVOICE, assistant=assistant))
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
