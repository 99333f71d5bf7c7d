import io
from typing import Any

from rich.console import Console

from mailroom_sandbox.site.demo.tables import DocumentRows


def document(**changed: Any) -> dict[str, Any]:
    extraction = {"supplier_name": "Müller\nGmbH", "invoice_number": "R-1", "issue_date": "2026-11-01"}
    extraction |= {"total_gross": "119.00", "currency": "EUR"}
    shown = {"id": "1", "doc_source_id": "s", "status": "completed", "skip_reason": None, "review_reason": None}
    return {**shown, "extraction": extraction, "source_metadata": {"attachment_filename": "r.pdf"}, **changed}


def rows_of(*looks: list[dict[str, Any]]) -> list[str]:
    text = io.StringIO()
    rows = DocumentRows(Console(file=text, width=160), {"s": "ap@outlook.test"})
    for look in looks:
        rows.show_documents(look)
    return text.getvalue().splitlines()


def test_document_is_shown_once_it_is_finished_and_only_once() -> None:
    lines = rows_of([document(status="pending", extraction=None)], [document()], [document()])
    assert len(lines) == 2
    assert lines[0].split() == ["mailbox", "status", "reason", "supplier", "number", "date", "total", "file"]
    assert " ".join(lines[1].split()) == "ap@outlook.test completed Müller GmbH R-1 2026-11-01 119.00 EUR r.pdf"


def test_document_that_changes_is_shown_again() -> None:
    assert len(rows_of([document(status="needs_review")], [document()])) == 3


def test_reason_stands_where_nothing_was_read() -> None:
    skipped = document(status="skipped", skip_reason="not_an_invoice", extraction=None)
    assert "not_an_invoice" in rows_of([skipped])[1]


def test_reason_of_a_review_stands_beside_what_was_read() -> None:
    lines = rows_of([document(status="needs_review", review_reason="page_and_xml_disagree")])
    assert "needs_review  page_and_xml_disagree  Müller GmbH" in lines[1]


def test_a_total_that_is_not_known_is_no_currency_alone() -> None:
    unknown = document(status="needs_review", extraction={"total_gross": None, "currency": "EUR"})
    assert "EUR" not in rows_of([unknown])[1]


def test_a_total_that_its_page_speaks_against_is_shown_with_a_question_mark() -> None:
    shown = {"total_gross": None, "currency": "EUR", "page_totals": {"total_gross": "125.00"}}
    assert "125.00 EUR ?" in rows_of([document(status="needs_review", extraction=shown)])[1]


def test_narrow_terminal_takes_nothing_from_date_and_total() -> None:
    text = io.StringIO()
    DocumentRows(Console(file=text, width=110), {"s": "ap@outlook.test"}).show_documents([document()])
    lines = text.getvalue().splitlines()
    assert max(len(line) for line in lines) <= 110
    assert "2026-11-01  119.00 EUR" in lines[1]


def test_mailbox_that_was_connected_later_is_named() -> None:
    text = io.StringIO()
    rows = DocumentRows(Console(file=text, width=160), {"s": "ap@outlook.test"})
    later = document(doc_source_id="later")
    assert not rows.knows_mailbox_of(later)
    rows.name_mailboxes({"later": "new@gmail.test"})
    rows.show_documents([later])
    assert "new@gmail.test" in text.getvalue()


def test_an_upload_has_no_mailbox() -> None:
    metadata = {"attachment_filename": "r.pdf", "provider": "manual_upload"}
    assert rows_of([document(doc_source_id="u", source_metadata=metadata)])[1].split()[0] == "(upload)"
