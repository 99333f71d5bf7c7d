import csv
from io import StringIO
from typing import Any

import orjson
import pytest

from ingestion.domain.export import COLUMNS, ExportFormat, write_document, write_header

DOCUMENT: dict[str, Any] = {
    **dict.fromkeys(COLUMNS),
    "id": "d1",
    "review": {"decision": "confirmed"},
    "possible_duplicates": ["d2", "d3"],
    "source_metadata": {"subject": "April", "from": "a@b.example"},
    "extraction": {"supplier_name": "Shop", "total_gross": "-119.00", "lines": []},
}


def read_line(document: dict[str, Any]) -> dict[str, str]:
    header = write_header(ExportFormat.CSV).decode()
    (row,) = csv.DictReader(StringIO(header + write_document(ExportFormat.CSV, document).decode()))
    return row


def test_a_csv_line_has_the_fields_of_document_mail_and_invoice() -> None:
    row = read_line(DOCUMENT)
    assert (row["id"], row["subject"], row["supplier_name"]) == ("d1", "April", "Shop")
    assert (row["review_decision"], row["possible_duplicates"]) == ("confirmed", "d2 d3")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1+1", "\uff1d1"])
def test_no_text_of_a_mail_is_calculated_by_a_spreadsheet(text: str) -> None:
    row = read_line({**DOCUMENT, "source_metadata": {"subject": text, "attachment_filename": text}})
    assert row["subject"] == f"'{text}"
    assert row["attachment_filename"] == f"'{text}"


def test_a_negative_amount_stays_a_number_and_what_only_looks_like_one_does_not() -> None:
    assert read_line(DOCUMENT)["total_gross"] == "-119.00"
    assert read_line({**DOCUMENT, "extraction": {"total_gross": "-1+cmd()"}})["total_gross"] == "'-1+cmd()"


def test_separators_quotes_and_line_breaks_stay_in_their_cell() -> None:
    text = 'a,"b"\nc;d'
    assert read_line({**DOCUMENT, "extraction": {"supplier_name": text}})["supplier_name"] == text


@pytest.mark.parametrize(
    "text",
    [
        "April;=1+1",
        "April; =1+1;-2",
        'April;"=1+1"',
        'April;"" @SUM(A1)',
        "April\t=1+1",
        "April\r\n+1",
        'a,";=1+1',
        "April;\uff1d1",
        "\t=1",
        "\r=1",
        "\n=1",
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_text_is_calculated_where_a_spreadsheet_parts_cells_by_another_sign(text: str, separator: str) -> None:
    """In many countries it is the semicolon: what stands behind one begins a cell, and no quote holds it together."""
    line = write_document(ExportFormat.CSV, {**DOCUMENT, "extraction": {"supplier_name": text}}).decode()
    cells = [cell for row in csv.reader(StringIO(line, newline=""), delimiter=separator) for cell in row]
    assert [cell for cell in cells if cell.lstrip().lstrip('"').lstrip()[:1] in tuple("=+-@\uff1d")] == []


def test_a_document_that_was_not_read_has_empty_cells() -> None:
    row = read_line({**DOCUMENT, "review": None, "extraction": None, "possible_duplicates": []})
    assert (row["supplier_name"], row["review_decision"], row["possible_duplicates"]) == ("", "", "")


def test_json_lines_hold_each_document_as_the_api_shows_it() -> None:
    assert write_header(ExportFormat.JSONL) == b""
    line = write_document(ExportFormat.JSONL, DOCUMENT)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert orjson.loads(line) == DOCUMENT
