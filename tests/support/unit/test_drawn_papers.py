"""Papers as common invoicing programs print them are read whole, and what is no invoice is none."""

from io import BytesIO

import pytest
from reading_quality.drawn_papers import INVOICES, OTHERS, DrawnPaper
from reading_quality.judging import Verdict, judge_reading
from reading_quality.page_drawing import draw_text

from ingestion.domain import routing
from ingestion.domain.transcript import PDF, Transcript
from ingestion.extract.layout_rules import is_invoice, read_invoice
from ingestion.readers import pdf_text
from mailroom_common.events import ResultStatus


def read_pages(paper: DrawnPaper) -> Transcript:
    read = pdf_text.read_pdf_text(BytesIO(draw_text(paper.text)))
    return Transcript(PDF, read.pages, tuple(read.lines))


@pytest.mark.parametrize("paper", INVOICES, ids=lambda paper: paper.name)
def test_a_paper_of_an_invoicing_program_is_read_whole(paper: DrawnPaper) -> None:
    assert paper.truth is not None
    pages = read_pages(paper)
    assert is_invoice(pages)
    printed = read_invoice(pages)
    invoice, kind = printed.invoice, printed.kind.document_type
    outcome = routing.route_extraction(routing.Extraction(kind, invoice.to_json(), 0.9, "test"))
    judgement = judge_reading(paper.truth, {"status": outcome.status, "extraction": outcome.extraction})
    assert {field: verdict for field, verdict in judgement.verdicts.items() if verdict is not Verdict.RIGHT} == {}
    assert outcome.status is ResultStatus.COMPLETED


@pytest.mark.parametrize("paper", OTHERS, ids=lambda paper: paper.name)
def test_what_is_no_invoice_is_none_whatever_total_it_has(paper: DrawnPaper) -> None:
    pages = read_pages(paper)
    assert not is_invoice(pages)
    printed = read_invoice(pages)
    invoice, kind = printed.invoice, printed.kind.document_type
    outcome = routing.route_extraction(routing.Extraction(kind, invoice.to_json(), 0.9, "test"))
    assert outcome.status is not ResultStatus.COMPLETED
