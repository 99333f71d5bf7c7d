"""Lessons and templates on a real database."""

from datetime import timedelta
from typing import Any

import pytest
from ingestion_fakes import build_record
from ingestion_site import Ingestion

from ingestion.adapters.templates import PgTemplates
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.layout_template import LayoutTemplate, Lesson, PlaceRule
from ingestion.domain.review import ReviewAction
from mailroom_common.events import ResultStatus

pytestmark = pytest.mark.stack

WHOLE: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "19.00",
}


def build_template(first: int = 0, name: str = "Shop") -> LayoutTemplate:
    return LayoutTemplate(
        document_type="invoice",
        supplier_name=name,
        vat_id=None,
        currency="EUR",
        currencies=(),
        features=tuple(range(first, first + 20)),
        overrides=("total_gross",),
        rules={"total_gross": (PlaceRule("left", "to pay"),)},
    )


async def finish_document(site: Ingestion, name: str, *, reader: str = "layout-rules/2", **fields: Any) -> str:
    record = build_record(name.encode(), message=name)
    await site.intakes.record_attachment(record)
    outcome = DocumentOutcome(
        status=ResultStatus.COMPLETED, document_type="invoice", extraction={**WHOLE, **fields}, reader=reader
    )
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def claim(templates: PgTemplates) -> Lesson:
    lesson = await templates.claim_lesson()
    assert lesson is not None
    return lesson


async def test_a_decision_is_a_lesson_for_its_tenant_alone(site: Ingestion) -> None:
    templates = PgTemplates(site.pool)
    document_id = await finish_document(site, "a")
    assert await templates.claim_lesson() is None
    await site.decide_document(document_id, ReviewAction.CORRECT, total_gross="91.00")
    lesson = await claim(templates)
    assert (lesson.document_id, lesson.tenant_id, lesson.fields["total_gross"]) == (document_id, "acme", "91.00")
    assert await templates.claim_lesson() is None  # it is leased
    assert not await templates.has_templates("acme")

    await templates.finish_lesson(lesson, build_template())
    assert await site.pool.fetchval("select count(*) from ingestion.template_lesson") == 0
    assert [stored.template for stored in await templates.find_templates("acme", range(20))] == [build_template()]
    assert await templates.find_templates("acme", range(50, 70)) == []
    assert (await templates.has_templates("acme"), await templates.has_templates("other")) == (True, False)
    assert await templates.find_templates("other", range(20)) == []


async def test_what_is_exact_or_rejected_teaches_nothing(site: Ingestion) -> None:
    await site.decide_document(await finish_document(site, "exact", reader="e-invoice/6"), ReviewAction.CONFIRM)
    await site.decide_document(await finish_document(site, "rejected"), ReviewAction.REJECT)
    assert await PgTemplates(site.pool).claim_lesson() is None


async def test_a_correction_of_what_a_template_read_drops_the_template(site: Ingestion) -> None:
    templates = PgTemplates(site.pool)
    await site.decide_document(await finish_document(site, "a"), ReviewAction.CONFIRM)
    await templates.finish_lesson(await claim(templates), build_template())
    (stored,) = await templates.find_templates("acme", range(20))
    evidence = {"id": stored.template_id, "fields": ["total_gross"]}
    read = [await finish_document(site, name, template=evidence) for name in ("b", "c")]
    await site.decide_document(read[0], ReviewAction.CORRECT, invoice_number="8")
    assert await templates.has_templates("acme")
    await site.decide_document(read[1], ReviewAction.CORRECT, total_gross="91.00")
    assert not await templates.has_templates("acme")
    assert {(await claim(templates)).document_id for _ in range(2)} == set(read)


async def test_a_template_that_is_learned_again_keeps_its_id_and_the_oldest_go_first(site: Ingestion) -> None:
    templates = PgTemplates(site.pool, max_templates=2)
    ids = []
    for number in range(3):
        await site.decide_document(await finish_document(site, str(number)), ReviewAction.CONFIRM)
        await templates.finish_lesson(await claim(templates), build_template(100 * number))
        (stored,) = await templates.find_templates("acme", range(100 * number, 100 * number + 20))
        ids.append(stored.template_id)
    assert await templates.find_templates("acme", range(20)) == []
    await site.decide_document(await finish_document(site, "again"), ReviewAction.CONFIRM)
    await templates.finish_lesson(await claim(templates), build_template(100, "Shop & Sons"), former=ids[1])
    (stored,) = await templates.find_templates("acme", range(100, 120))
    assert (stored.template_id, stored.template.supplier_name) == (ids[1], "Shop & Sons")


async def test_a_lesson_whose_worker_died_is_claimed_again_and_a_later_decision_is_another_one(
    site: Ingestion,
) -> None:
    dying = PgTemplates(site.pool, lease=timedelta(0))
    document_id = await finish_document(site, "a")
    await site.decide_document(document_id, ReviewAction.CONFIRM)
    former = await claim(dying)
    assert await claim(dying) == former
    await site.decide_document(document_id, ReviewAction.CORRECT, total_gross="91.00")
    await dying.finish_lesson(former, build_template())
    assert not await dying.has_templates("acme")
    # Of one that ends its worker each time there is an end too.
    for _ in range(5):
        assert (await claim(dying)).fields["total_gross"] == "91.00"
    assert await dying.claim_lesson() is None
    assert await site.pool.fetchval("select count(*) from ingestion.template_lesson") == 0


async def test_a_lesson_that_waits_for_the_blob_store_loses_no_attempt(site: Ingestion) -> None:
    templates = PgTemplates(site.pool)
    document_id = await finish_document(site, "a")
    await site.decide_document(document_id, ReviewAction.CONFIRM)
    for _ in range(10):
        await templates.release_lesson(await claim(templates))
        assert await templates.claim_lesson() is None, "it waits a moment"
        await site.pool.execute("update ingestion.template_lesson set next_attempt_at = now()")
    assert (await claim(templates)).document_id == document_id


async def test_tenants_take_turns_in_what_is_learned_of_their_decisions(site: Ingestion) -> None:
    for name in ("a", "b", "c", "d"):
        await site.decide_document(await finish_document(site, name), ReviewAction.CONFIRM)
    other = await finish_document(site, "e")
    await site.pool.execute("update ingestion.document set tenant_id = 'other' where document_id = $1", other)
    await site.pool.execute(
        "insert into ingestion.template_lesson (document_id, tenant_id, version) values ($1, 'other', 1)", other
    )
    templates = PgTemplates(site.pool)
    assert [(await claim(templates)).tenant_id for _ in range(4)] == ["acme", "other", "acme", "acme"]
