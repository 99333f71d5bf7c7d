"""Accounts that are new for a known supplier, on a real database."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from ingestion_fakes import build_record
from ingestion_site import Ingestion

from ingestion.adapters.document_evidence import find_evidence
from ingestion.adapters.supplier_accounts import PgSupplierBackfill
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.review import ReviewAction
from mailroom_common.events import ResultStatus

pytestmark = pytest.mark.stack

OLD, NEW, NEWER = "DE88200800000970375700", "FR1420041010050500013M02606", "GB82WEST12345698765432"


def read_invoice(iban: str | None, **fields: Any) -> DocumentOutcome:
    usual = {**Invoice().to_json(), "supplier_name": "Muster GmbH", "vat_id": "DE136695976", "iban": iban}
    return DocumentOutcome(
        status=ResultStatus.COMPLETED,
        document_type="invoice",
        extraction={**usual, **fields},
        confidence=1.0,
        reader="e-invoice/6",
    )


async def finish_document(site: Ingestion, name: str, outcome: DocumentOutcome, *, tenant: str = "acme") -> str:
    record = build_record(name.encode(), message=name, tenant=tenant, source=f"source of {tenant}")
    await site.intakes.record_attachment(record)
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def read_again(site: Ingestion, document_id: str, outcome: DocumentOutcome, replay_id: str) -> None:
    assert await site.rereads.request_document("acme", document_id, replay_id)
    assert await site.leases.finish_document(await site.claim_document(), outcome)


async def read_state(site: Ingestion, document_id: str) -> tuple[str, str | None, list[str] | None]:
    row = await site.document(document_id)
    return row["status"], row["review_reason"], row["extraction"].get("known_ibans")


KNOWN = ("completed", None, None)


async def test_a_new_account_is_known_once_a_person_confirms_it(site: Ingestion) -> None:
    first = await finish_document(site, "first", read_invoice(OLD))
    changed = await finish_document(site, "changed", read_invoice(NEW))
    assert await read_state(site, first) == KNOWN
    assert await read_state(site, changed) == ("needs_review", "iban_changed", [OLD])
    assert [(result.status, result.reason) for result in await site.results()][1] == ("needs_review", "iban_changed")
    # Nobody has said that it is right: the next one is a change as well, also under the supplier's name alone.
    again = await finish_document(site, "again", read_invoice(NEW, vat_id=None))
    assert await read_state(site, again) == ("needs_review", "iban_changed", [OLD])
    # A name is known with whatever VAT id stands beside it.
    spoofed = await finish_document(site, "spoofed", read_invoice(NEW, vat_id="DE129273398"))
    assert await read_state(site, spoofed) == ("needs_review", "iban_changed", [OLD])
    theirs = await finish_document(site, "theirs", read_invoice(NEW), tenant="other")
    assert await read_state(site, theirs) == KNOWN

    await site.decide_document(changed, ReviewAction.CONFIRM)
    assert await read_state(site, changed) == KNOWN
    assert await read_state(site, await finish_document(site, "next", read_invoice(NEW))) == KNOWN
    # Which of two is right nobody but a person can say: of the one that came first nobody has said it yet.
    old = await finish_document(site, "old", read_invoice(OLD))
    assert await read_state(site, old) == ("needs_review", "iban_changed", [NEW])
    await site.decide_document(old, ReviewAction.CONFIRM)
    assert await read_state(site, await finish_document(site, "older", read_invoice(OLD))) == KNOWN
    newer = await finish_document(site, "newer", read_invoice(NEWER))
    assert await read_state(site, newer) == ("needs_review", "iban_changed", [OLD, NEW])


async def test_whoever_came_first_in_a_suppliers_name_is_not_paid_beside_the_one_that_a_person_confirmed(
    site: Ingestion,
) -> None:
    """A small invoice, sent before the supplier's first one, would make its sender's account known for ever."""
    first = await finish_document(site, "forged", read_invoice(NEWER))
    assert await read_state(site, first) == KNOWN
    real = await finish_document(site, "real", read_invoice(OLD))
    assert await read_state(site, real) == ("needs_review", "iban_changed", [NEWER])
    await site.decide_document(real, ReviewAction.CONFIRM)
    forged = await finish_document(site, "forged again", read_invoice(NEWER))
    assert await read_state(site, forged) == ("needs_review", "iban_changed", [OLD])
    assert await read_state(site, await finish_document(site, "real again", read_invoice(OLD))) == KNOWN
    # What stands is not put in doubt by a reader that reads more of it, or by who corrects something else.
    whole = {"invoice_number": "9", "issue_date": "2026-04-01", "currency": "EUR", "total_gross": "19.00"}
    await read_again(site, first, read_invoice(NEWER, **whole), "r1")
    assert await read_state(site, first) == KNOWN
    await site.decide_document(first, ReviewAction.CORRECT, invoice_number="10")
    assert await read_state(site, first) == KNOWN


async def test_a_document_that_is_read_again_changes_nothing(site: Ingestion) -> None:
    first = await finish_document(site, "first", read_invoice(OLD))
    changed = await finish_document(site, "changed", read_invoice(NEW))
    await read_again(site, changed, read_invoice(NEW), "r1")
    assert (await site.document(changed))["result_number"] == 1
    await site.decide_document(changed, ReviewAction.CONFIRM)
    for number, (document, iban) in enumerate(((first, OLD), (changed, NEW), (changed, NEW))):
        await read_again(site, document, read_invoice(iban), f"again {number}")
    assert (await site.document(first))["result_number"] == 1
    assert (await site.document(changed))["result_number"] == 2
    forged = await finish_document(site, "forged", read_invoice(NEWER))
    await site.decide_document(forged, ReviewAction.REJECT)
    await read_again(site, forged, read_invoice(NEWER), "r1")
    kinds = await site.pool.fetch("select kind from ingestion.document_history order by entry_id")
    assert [row["kind"] for row in kinds] == ["read", "confirmed", "read", "rejected"]


async def test_who_corrects_another_field_has_not_confirmed_the_account(site: Ingestion) -> None:
    await finish_document(site, "first", read_invoice(OLD))
    whole = {"invoice_number": "7", "issue_date": "2026-04-01", "currency": "EUR", "total_gross": "19.00"}
    changed = await finish_document(site, "changed", read_invoice(NEW, **{**whole, "total_gross": "91.00"}))
    await site.decide_document(changed, ReviewAction.CORRECT, total_gross="19.00")
    assert await read_state(site, changed) == ("needs_review", "iban_changed", [OLD])
    await site.decide_document(changed, ReviewAction.CORRECT, iban=OLD)
    assert await read_state(site, changed) == KNOWN


async def test_an_account_that_only_an_xml_names_completes_once_a_person_has_confirmed_it(site: Ingestion) -> None:
    only_in_xml = replace(read_invoice(NEW), status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.IBAN_NOT_ON_PAGE)
    waiting = await finish_document(site, "waiting", only_in_xml)
    first = await finish_document(site, "first", only_in_xml)
    assert await read_state(site, first) == ("needs_review", "iban_not_on_page", None)
    await site.decide_document(first, ReviewAction.CONFIRM)
    assert await read_state(site, await finish_document(site, "next", only_in_xml)) == KNOWN
    # So does one that waits, with its next reading, and nothing happens to what a person has decided.
    await read_again(site, waiting, only_in_xml, "r1")
    await read_again(site, first, only_in_xml, "r1")
    assert await read_state(site, waiting) == KNOWN
    assert (await site.document(first))["result_number"] == 2


async def test_a_rejected_document_takes_its_account_along(site: Ingestion) -> None:
    forged = await finish_document(site, "forged", read_invoice(NEW))
    await site.decide_document(forged, ReviewAction.REJECT)
    assert await read_state(site, await finish_document(site, "real", read_invoice(OLD))) == KNOWN


async def test_of_two_first_documents_that_end_at_one_moment_the_later_is_for_a_person(site: Ingestion) -> None:
    leases = []
    for name in ("one", "two", "three"):
        await site.intakes.record_attachment(build_record(name.encode(), message=name))
        leases.append(await site.claim_document())
    # Each shares one key of its supplier with the next.
    outcomes = [
        read_invoice(OLD, supplier_name="Acme"),
        read_invoice(NEW),
        read_invoice(NEWER, vat_id=None),
    ]
    ended = await asyncio.gather(*(site.leases.finish_document(*pair) for pair in zip(leases, outcomes, strict=True)))
    reasons = [outcome.reason for outcome in ended if outcome is not None]
    assert len(reasons) == 3
    # Either the one that is like both others ended first, or it met one of them.
    assert reasons in (
        [ReviewReason.IBAN_CHANGED, None, ReviewReason.IBAN_CHANGED],
        [None, ReviewReason.IBAN_CHANGED, None],
    )


async def test_a_name_that_looks_like_a_known_one_hides_no_new_account(site: Ingestion) -> None:
    await finish_document(site, "first", read_invoice(OLD, supplier_name="Info AG", vat_id=None))
    forged = await finish_document(site, "forged", read_invoice(NEW, supplier_name="lnfo A\u200bG", vat_id=None))
    assert await read_state(site, forged) == ("needs_review", "iban_changed", [OLD])


async def test_what_an_earlier_release_completed_is_known_by_its_look_too(site: Ingestion) -> None:
    await finish_document(site, "first", read_invoice(OLD, supplier_name="Info AG", vat_id=None))
    await site.pool.execute("update ingestion.document set supplier_look_key = null")
    backfill = PgSupplierBackfill(site.pool, batch=3)
    assert [await backfill.write_missing() for _ in range(2)] == [1, 0]
    forged = await finish_document(site, "forged", read_invoice(NEW, supplier_name="lnfo AG", vat_id=None))
    assert (await read_state(site, forged))[1] == "iban_changed"


async def test_what_was_completed_before_accounts_were_compared_is_known_too(site: Ingestion) -> None:
    documents = [await finish_document(site, str(number), read_invoice(OLD)) for number in range(3)]
    nobody = await finish_document(site, "nobody", read_invoice(OLD, supplier_name=None, vat_id=None))
    await site.pool.execute(
        "update ingestion.document set supplier_vat_key = null, supplier_name_key = null, supplier_look_key = null, "
        "supplier_iban = null"
    )
    backfill = PgSupplierBackfill(site.pool, batch=3)
    assert [await backfill.write_missing() for _ in range(3)] == [3, 1, 0]
    rows = [await site.document(document) for document in (*documents, nobody)]
    keys = [(row["supplier_vat_key"], row["supplier_name_key"], row["supplier_iban"]) for row in rows]
    assert keys == [("DE136695976", "muster", OLD)] * 3 + [(None, None, "")]


async def test_a_failed_reading_leaves_the_accounts_that_were_shown(site: Ingestion) -> None:
    await finish_document(site, "first", read_invoice(OLD))
    changed = await finish_document(site, "changed", read_invoice(NEW))
    current = read_invoice(NEW)
    current = replace(
        current,
        status=ResultStatus.NEEDS_REVIEW,
        reason=ReviewReason.IBAN_CHANGED,
        extraction={**(current.extraction or {}), "known_ibans": [OLD]},
    )
    await site.decide_document(await finish_document(site, "second", read_invoice(NEWER)), ReviewAction.CONFIRM)
    await read_again(site, changed, current, "r1")
    assert (await site.document(changed))["result_number"] == 1


async def test_invoices_that_wait_for_their_supplier_are_read_again_once_a_person_has_made_its_account_known(
    site: Ingestion,
) -> None:
    certain = read_invoice(OLD)
    uncertain = replace(certain, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.SUPPLIER_UNCERTAIN)
    elsewhere = replace(uncertain, extraction={**(uncertain.extraction or {}), "iban": NEW})
    first, second = [await finish_document(site, name, uncertain) for name in ("first", "second")]
    other = await finish_document(site, "other", elsewhere)
    stranger = await finish_document(site, "stranger", uncertain, tenant="globex")
    # Two thousand so long would keep the reviewer waiting.
    noise = "".join(sha256(str(number).encode()).hexdigest() for number in range(2000))
    await finish_document(site, "long", replace(uncertain, extraction={**(uncertain.extraction or {}), "notes": noise}))
    await site.decide_document(first, ReviewAction.CONFIRM)
    due = await site.pool.fetch("select document_id from ingestion.document where next_attempt_at is not null")
    assert [row["document_id"] for row in due] == [second]
    assert await site.leases.finish_document(await site.claim_document(), uncertain)
    assert [(await read_state(site, one))[0] for one in (first, second, other, stranger)] == [
        "completed",
        "completed",
        "needs_review",
        "needs_review",
    ]


async def test_an_invoice_of_which_less_can_be_read_now_completes_by_its_account_and_keeps_its_places(
    site: Ingestion,
) -> None:
    places = (EvidenceBox("iban", 0, 10, 10, 50, 9),)
    uncertain = replace(
        read_invoice(OLD), status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.SUPPLIER_UNCERTAIN, boxes=places
    )
    first, second = [await finish_document(site, name, uncertain) for name in ("first", "second")]
    await site.decide_document(first, ReviewAction.CONFIRM)
    less = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
    lease = await site.claim_document()
    assert lease.former is not None
    assert await site.leases.finish_document(lease, lease.former, failed=less)
    assert await read_state(site, second) == KNOWN
    async with site.pool.acquire() as conn:
        evidence = await find_evidence(conn, second)
    assert evidence is not None
    assert [box["field"] for box in evidence["boxes"]] == ["iban"]


async def test_no_invoice_is_read_again_for_a_supplier_whose_document_was_rejected(site: Ingestion) -> None:
    uncertain = replace(read_invoice(OLD), status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.SUPPLIER_UNCERTAIN)
    first, _ = [await finish_document(site, name, uncertain) for name in ("first", "second")]
    await site.decide_document(first, ReviewAction.REJECT)
    assert await site.pool.fetchval("select count(*) from ingestion.document where next_attempt_at is not null") == 0
