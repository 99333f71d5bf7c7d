import json
import os
from pathlib import Path

import pytest

import mailroom_cli
from mailroom_cli.read import describe_reading
from mailroom_cli.terminal import escape_line, print_line, print_text

CLEAR_SCREEN = "\x1b[2J"
SET_CLIPBOARD = "\x9d52;c;cm0gLXJmIH4=\x9c"  # with the controls of one character that XML may hold


@pytest.mark.parametrize("hostile", [CLEAR_SCREEN, SET_CLIPBOARD, "a\rb", "ab\x08", "\u202etxt.exe", "one\ntwo"])
def test_a_line_has_nothing_that_a_terminal_obeys(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_line(f"subject={hostile}")
    shown = capsys.readouterr().out
    assert shown.endswith("\n")
    assert shown[:-1].isprintable()
    assert json.loads(f'"{shown[:-1]}"') == f"subject={hostile}"


def test_a_text_keeps_its_lines_and_words_in_any_language(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("Führungszeugnis → 発票\n  12,00 €")
    assert capsys.readouterr().out == "Führungszeugnis → 発票\n  12,00 €\n"


def test_a_name_that_is_no_utf_8_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(f"{os.fsdecode(bytes.fromhex('636166e9'))}.pdf")
    assert capsys.readouterr().out == "caf\\udce9.pdf\n"


def test_a_document_cannot_forge_lines_of_its_own_reading() -> None:
    reading = {"status": "skipped", "reason": None, "document_type": None, "reader": None, "confidence": None}
    fields = {"supplier_name": f"Acme{CLEAR_SCREEN}\nother.pdf: completed"}
    shown = describe_reading({"file": "a.pdf", "seconds": 0.1, "extraction": fields, **reading})
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown


def test_json_that_is_printed_means_the_same() -> None:
    assert json.loads(escape_line(json.dumps({"from": SET_CLIPBOARD}, ensure_ascii=False))) == {"from": SET_CLIPBOARD}


def test_no_command_prints_in_another_way() -> None:
    modules = [file for file in Path(mailroom_cli.__file__).parent.rglob("*.py") if file.name != "terminal.py"]
    assert [file.name for file in modules if "typer.echo" in file.read_text()] == []
