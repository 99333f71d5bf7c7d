"""What workers of an earlier release left out of documents, on a real database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ingestion_fakes import build_record
from ingestion_site import Ingestion
from structlog.testing import capture_logs

from ingestion.adapters import document_check, document_search, duplicate_keys
from ingestion.adapters.document_check import PgDocumentCheck
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.supplier_accounts import build_supplier_keys
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.review import ReviewAction
from ingestion.domain.search_words import build_duplicate_key
from ingestion.ports.documents import DocumentFilter
from mailroom_common.events import ResultStatus
from mailroom_common.postgres import DatabaseSession

pytestmark = pytest.mark.stack


@contextmanager
def earlier_release() -> Iterator[None]:
    """Lists no documents that share a key, and writes no names of suppliers as they look."""

    async def write_supplier_keys(conn: DatabaseSession, document: Any) -> None:
        vat_key, name_key, _, iban = build_supplier_keys(document)
        await conn.execute(
            "update ingestion.document set supplier_vat_key = $2, supplier_name_key = $3, supplier_iban = $4 "
            "where document_id = $1",
            document["document_id"],
            vat_key,
            name_key,
            iban,
        )

    with pytest.MonkeyPatch.context() as patch:
        for name, kind in (
            ("_ADD_DOCUMENT", "bigint"),
            ("_ADD_DOCUMENTS", "text"),
            ("_REMOVE_DOCUMENT", "bigint"),
            ("_REMOVE_DOCUMENTS", "text"),
        ):
            patch.setattr(duplicate_keys, name, f"select $1::text, $2::{kind}")
        patch.setattr(document_search, "write_supplier_keys", write_supplier_keys)
        yield


async def finish_document(site: Ingestion, name: str, **fields: str) -> str:
    invoice = {
        "supplier_name": "Info AG",
        "invoice_number": "R-1",
        "issue_date": "2026-11-01",
        "currency": "EUR",
        "total_gross": "10.00",
        **fields,
    }
    await site.intakes.record_attachment(build_record(name.encode(), message=name, tenant="acme"))
    lease = await site.claim_document()
    outcome = DocumentOutcome(
        status=ResultStatus.COMPLETED, document_type="invoice", extraction=invoice, confidence=1.0, reader="e-invoice/6"
    )
    assert await site.leases.finish_document(lease, outcome)
    return lease.document_id


async def list_possible_duplicates(site: Ingestion) -> set[str]:
    catalog = PgDocumentCatalog(site.pool)
    found, _ = await catalog.list_documents("acme", DocumentFilter(possible_duplicate=True), before=None, limit=9)
    return {document["id"] for document in found}


async def check_all(site: Ingestion) -> None:
    await site.events.assign_numbers()
    while await PgDocumentCheck(site.pool).check_changes():
        pass


async def test_a_pair_of_which_an_earlier_release_completed_the_second_is_listed_and_a_third_one_too(
    site: Ingestion,
) -> None:
    documents = [await finish_document(site, "first")]
    await check_all(site)
    for name in ("second", "third"):
        with earlier_release():
            documents.append(await finish_document(site, name))
        assert await list_possible_duplicates(site) != set(documents)
        await check_all(site)
        assert await list_possible_duplicates(site) == set(documents)


async def test_a_document_that_an_earlier_release_rejected_is_listed_no_longer(site: Ingestion) -> None:
    documents = [await finish_document(site, name) for name in ("first", "second", "third")]
    with earlier_release():
        await site.decide_document(documents[0], ReviewAction.REJECT)
    assert await list_possible_duplicates(site) == set(documents)
    await check_all(site)
    assert await list_possible_duplicates(site) == set(documents[1:])


async def test_a_supplier_that_an_earlier_release_corrected_is_known_by_the_look_of_its_new_name_alone(
    site: Ingestion,
) -> None:
    """What a rollback leaves of the former name would make the account a known one of whoever has that name."""
    document = await finish_document(site, "first", supplier_name="Info AG", iban="DE88200800000970375700")
    former = (await site.document(document))["supplier_look_key"]
    with earlier_release():
        await site.decide_document(document, ReviewAction.CORRECT, supplier_name="Other AG")
    assert (await site.document(document))["supplier_look_key"] == former
    await check_all(site)
    assert (await site.document(document))["supplier_look_key"] == "other"


async def test_a_key_that_one_document_has_left_is_listed_whole_with_the_next_that_gets_it(site: Ingestion) -> None:
    first, second = [await finish_document(site, name) for name in ("first", "second")]
    await site.pool.execute("delete from ingestion.shared_document")
    await site.pool.execute("update ingestion.document set duplicate_key = null where document_id = $1", second)
    await site.pool.execute(
        "update ingestion.document set extraction = extraction - 'invoice_number' where document_id = $1", second
    )
    await check_all(site)
    async with site.pool.acquire() as conn, conn.transaction():
        await duplicate_keys.list_sharing_documents(conn, await site.document(first))
    third = await finish_document(site, "third")
    assert await list_possible_duplicates(site) == {first, third}


async def test_a_document_that_rules_cannot_take_ends_no_worker_and_holds_up_no_other(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    with earlier_release():
        documents = {await finish_document(site, str(number)) for number in range(2)}
        broken = await finish_document(site, "broken", invoice_number="R-9")
    build_key = build_duplicate_key

    def build(document_type: str | None, extraction: Any) -> str | None:
        if extraction["invoice_number"] == "R-9":
            raise ValueError("a bug of ours")
        return build_key(document_type, extraction)

    monkeypatch.setattr(document_check, "build_duplicate_key", build)
    with capture_logs() as logs:
        await check_all(site)
    assert await list_possible_duplicates(site) == documents
    assert [line["document_id"] for line in logs if line["event"] == "document_check_failed"] == [broken]


async def test_changes_are_checked_once_whichever_worker_looks_and_one_document_is_locked_at_once(
    site: Ingestion,
) -> None:
    with earlier_release():
        documents = {await finish_document(site, str(number), invoice_number=f"R-{number % 2}") for number in range(4)}
    await site.events.assign_numbers()
    checks = [PgDocumentCheck(site.pool) for _ in range(4)]
    # The first pair with its first document, the second with that one's.
    assert [await check.check_changes() for check in checks] == [True, True, True, False]
    assert await list_possible_duplicates(site) == documents
