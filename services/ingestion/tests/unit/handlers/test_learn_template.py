"""What a review teaches, over a year of one supplier."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from generated_invoices import CII
from ingestion_fakes import FakeBlobs
from template_fakes import DrawnInvoice, FakeTemplates, open_direct_readers

from ingestion.domain.document import DocumentId, DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import Lesson
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.handlers.learn_template import TemplateLearner
from ingestion.handlers.read_by_templates import TenantTemplates
from ingestion.handlers.read_document import ReadingPurpose, read_document
from mailroom_common.errors import Unavailable
from mailroom_common.events import ResultStatus


class Site:
    """One tenant's documents, reviews and templates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = FakeBlobs(folder)
        self.templates = FakeTemplates()
        self.learner = TemplateLearner(self.templates, self.templates, self.blobs, open_direct_readers)

    async def read(self, pdf: bytes, tenant: str = "acme") -> DocumentOutcome:
        file = self.folder / "invoice.pdf"
        file.write_bytes(pdf)
        purpose = ReadingPurpose(templates=TenantTemplates(self.templates, tenant))
        async with open_direct_readers() as readers:
            return (await read_document(readers, file, purpose)).outcome

    async def review(self, invoice: DrawnInvoice, tenant: str = "acme", **changed: Any) -> None:
        pdf = invoice.pdf()
        self.blobs.blobs["blob"] = pdf
        async with self.blobs.fetch_blob("blob") as file:
            digest = file.sha256
        fields = {**Invoice().to_json(), **invoice.expected, **changed}
        self.templates.lessons.append(
            Lesson(
                document_id=DocumentId("d1"),
                tenant_id=tenant,
                version=2,
                blob_key="blob",
                content_sha256=digest,
                document_type="invoice",
                fields=fields,
            )
        )
        assert await self.learner.learn_next()
        assert not await self.learner.learn_next()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def list_wrong(outcome: DocumentOutcome, invoice: DrawnInvoice) -> dict[str, Any]:
    read = outcome.extraction or {}
    return {name: read.get(name) for name, value in invoice.expected.items() if read.get(name) != value}


async def test_after_the_review_of_january_the_invoices_of_the_year_are_read_right(site: Site) -> None:
    year = [DrawnInvoice(month=month) for month in range(1, 13)]
    before = [await site.read(invoice.pdf()) for invoice in year]
    # The general rules know none of its labels.
    assert [outcome.reason for outcome in before] == [ReviewReason.FIELDS_MISSING] * 12
    await site.review(year[0])
    after = [await site.read(invoice.pdf()) for invoice in year[1:]]
    assert [list_wrong(outcome, invoice) for outcome, invoice in zip(after, year[1:], strict=True)] == [{}] * 11
    assert {outcome.status for outcome in after} == {ResultStatus.COMPLETED}
    assert {outcome.confidence for outcome in after} == {0.9}
    assert {outcome.reader for outcome in after} == {"layout-rules/7+template/2"}
    evidence = (after[0].extraction or {})["template"]
    assert evidence["id"] == "template-1"
    assert {"invoice_number", "issue_date", "total_gross"} <= set(evidence["fields"])


async def test_another_tenant_learns_nothing_of_it(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    await site.review(DrawnInvoice(month=1, supplier="Southlight Studio", vat_id="DE129273398"), tenant="other")
    theirs = await site.read(DrawnInvoice(month=2).pdf(), tenant="other")
    assert (theirs.reason, theirs.reader) == (ReviewReason.FIELDS_MISSING, "layout-rules/7")


async def test_another_supplier_with_the_same_program_is_read_by_the_general_rules(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    other = DrawnInvoice(month=2, supplier="Southlight Studio", vat_id="DE129273398")
    assert (await site.read(other.pdf())).reader == "layout-rules/7"


async def test_the_account_is_read_off_the_page_and_never_remembered(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    forged = await site.read(DrawnInvoice(month=2, iban="FR1420041010050500013M02606").pdf())
    assert (forged.extraction or {})["iban"] == "FR1420041010050500013M02606"
    assert "iban" not in (forged.extraction or {})["template"]["fields"]


async def test_a_total_that_net_and_tax_do_not_make_is_not_taken(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    outcome = await site.read(DrawnInvoice(month=2, paid="999.00").pdf())
    assert outcome.status is ResultStatus.NEEDS_REVIEW
    assert (outcome.extraction or {})["total_gross"] is None


async def test_a_total_that_the_layout_proves_and_this_page_does_not_is_not_taken(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    outcome = await site.read(DrawnInvoice(month=2, levy_label="some duty").pdf())
    assert (outcome.extraction or {})["total_gross"] is None
    assert (outcome.extraction or {})["invoice_number"] == DrawnInvoice(month=2).expected["invoice_number"]


async def test_the_order_of_day_and_month_is_that_of_the_other_date(site: Site) -> None:
    # The third of the third says nothing of it.
    await site.review(DrawnInvoice(month=3))
    april = DrawnInvoice(month=4)
    assert list_wrong(await site.read(april.pdf()), april) == {}


async def test_a_later_review_replaces_what_was_learned_wrongly(site: Site) -> None:
    await site.review(DrawnInvoice(month=1), invoice_number="PO-9000")
    march = DrawnInvoice(month=3)
    assert list_wrong(await site.read(march.pdf()), march) == {"invoice_number": "PO-9000"}
    await site.review(DrawnInvoice(month=2))
    assert list_wrong(await site.read(march.pdf()), march) == {}
    assert len(site.templates.learned) == 1


async def test_a_value_of_another_shape_is_none_of_the_supplier(site: Site) -> None:
    await site.review(DrawnInvoice(month=1), invoice_number="PO-9000")
    outcome = await site.read(DrawnInvoice(month=2, order="2027-X").pdf())
    assert (outcome.extraction or {})["invoice_number"] is None


async def test_what_no_general_rule_takes_for_an_invoice_is_one_by_its_template(site: Site) -> None:
    february = DrawnInvoice(month=2, title="NOTE OF WORK")
    assert (await site.read(february.pdf())).reason is DocumentSkipReason.NOT_AN_INVOICE
    await site.review(DrawnInvoice(month=1, title="NOTE OF WORK"))
    assert list_wrong(await site.read(february.pdf()), february) == {}


async def test_a_document_whose_blob_is_gone_teaches_nothing_and_holds_up_no_other(site: Site) -> None:
    lesson = Lesson(
        document_id=DocumentId("d1"),
        tenant_id="acme",
        version=2,
        blob_key="gone",
        content_sha256="",
        document_type="invoice",
        fields=Invoice().to_json(),
    )
    site.templates.lessons.append(lesson)
    assert await site.learner.learn_next()
    assert site.templates.lessons == []
    assert site.templates.learned == {}


async def test_embedded_xml_is_exact_and_no_template_is_asked(site: Site) -> None:
    await site.review(DrawnInvoice(month=1))
    outcome = await site.read(CII(seller="Northlight Studio").pdf(DrawnInvoice(month=2).pdf()))
    assert outcome.reader == "e-invoice/6"


@pytest.mark.parametrize("error", [Unavailable("S3"), asyncio.CancelledError()])
async def test_a_lesson_is_given_back_while_the_blob_store_is_away_and_when_the_process_stops(
    site: Site, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_key: str) -> Any:
        raise error

    monkeypatch.setattr(site.blobs, "fetch_blob", fail)
    lesson = Lesson(
        document_id=DocumentId("d1"),
        tenant_id="acme",
        version=2,
        blob_key="blob",
        content_sha256="0",
        document_type="invoice",
        fields={},
    )
    site.templates.lessons.append(lesson)
    with pytest.raises(type(error)):
        await site.learner.learn_next()
    assert site.templates.released == [lesson]
