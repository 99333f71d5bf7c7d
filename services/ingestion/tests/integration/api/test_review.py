"""Reviews on a real database, over real HTTP."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, Ingestion

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from mailroom_common.events import ResultStatus

pytestmark = pytest.mark.stack

FIELDS: dict[str, Any] = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "19.00",
}
DOUBTFUL = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW,
    reason=ReviewReason.TOTALS_DO_NOT_ADD_UP,
    document_type="invoice",
    extraction=FIELDS,
    confidence=0.6,
    reader="layout-rules/1",
)
OPERATOR = as_tenant("acme", "operator")


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=OPERATOR, timeout=10) as client,
    ):
        yield client


async def finish_document(site: Ingestion, outcome: DocumentOutcome = DOUBTFUL) -> str:
    record = build_record()
    await site.intakes.record_attachment(record)
    await site.intakes.record_attachment(build_record(message="a second mail"))
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def read_again(site: Ingestion, document_id: str, outcome: DocumentOutcome, replay_id: str = "r1") -> None:
    assert await site.rereads.request_document("acme", document_id, replay_id)
    assert await site.leases.finish_document(await site.claim_document(), outcome)


def correct(version: int, **fields: Any) -> dict[str, Any]:
    body = {"action": "correct", "fields": fields, "reviewer": "anna", "comment": "a stamp"}
    return {"json": body, "headers": {**OPERATOR, "If-Match": f'"{version}"'}}


async def list_history(api: httpx.AsyncClient, document_id: str, **query: Any) -> list[dict[str, Any]]:
    answer = await api.get(f"/documents/{document_id}/history", params=query)
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_correction_is_told_to_all_and_kept_as_evidence(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    seen = await api.get(f"/documents/{document_id}")
    assert (seen.headers["etag"], seen.json()["version"], seen.json()["review"]) == ('"1"', 1, None)

    answer = await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["review_reason"], answer.headers["etag"]) == (
        "completed",
        None,
        '"2"',
    )
    assert answer.json()["review"]["decision"] == "corrected"
    results = await site.results()
    assert [(result.status, result.reason) for result in results[2:]] == [(ResultStatus.COMPLETED, None)] * 2
    assert len({result.event_id for result in results}) == 4
    events = await site.pool.fetch("select document from ingestion.document_event order by id")
    assert events[-1]["document"]["extraction"]["total_gross"] == "119.00"

    corrected, read = await list_history(api, document_id)
    assert (read["version"], read["kind"], read["reason"]) == (1, "read", "totals_do_not_add_up")
    assert read["extraction"] == FIELDS
    assert (corrected["version"], corrected["kind"], corrected["reviewer"], corrected["comment"]) == (
        2,
        "corrected",
        "anna",
        "a stamp",
    )
    assert len(corrected["api_key_id"]) == 12
    assert corrected["changes"] == [
        {"field": "total_gross", "read": "19.00", "former": "19.00", "given": "119.00"},
    ]


async def test_of_two_reviewers_who_saw_one_version_the_second_is_refused(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    first = await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    second = await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="911"))
    assert (first.status_code, second.status_code, second.json()["version"]) == (200, 412, 2)
    assert (await site.document(document_id))["extraction"]["total_gross"] == "119.00"


@pytest.mark.parametrize(("header", "status"), [(None, 428), ("*", 400), ('"1", "2"', 400), ("1", 200), ('W/"1"', 200)])
async def test_a_review_names_the_version_that_was_seen(
    site: Ingestion, api: httpx.AsyncClient, header: str | None, status: int
) -> None:
    document_id = await finish_document(site)
    headers = {} if header is None else {"If-Match": header}
    answer = await api.post(f"/documents/{document_id}/review", json={"action": "reject"}, headers=headers)
    assert answer.status_code == status
    assert (await site.document(document_id))["skip_reason"] == ("rejected" if status == 200 else None)


async def test_a_newer_reading_is_kept_beside_a_decision_and_never_replaces_it(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    decided = dict(await site.document(document_id))
    newer = replace(DOUBTFUL, extraction={**FIELDS, "total_gross": "120.00"}, reader="layout-rules/2")
    for number in range(2):
        await read_again(site, document_id, newer, f"r{number}")
    current = dict(await site.document(document_id))
    kept = ("status", "extraction", "reader", "result_number", "review_decision", "updated_at")
    assert [current[name] for name in kept] == [decided[name] for name in kept]
    assert (await site.results())[-1].reader == "layout-rules/1"

    # The first of the two is kept, and the second says no more than that there was one.
    again, proposed, corrected, read = await list_history(api, document_id)
    assert (again["kind"], again["reader"], again["extraction"]) == ("reread_not_taken", "layout-rules/2", None)
    assert (proposed["kind"], proposed["version"], proposed["reader"]) == ("proposed", 2, "layout-rules/2")
    assert proposed["extraction"]["total_gross"] == "120.00"
    assert (corrected["kind"], read["kind"]) == ("corrected", "read")
    assert await list_history(api, document_id, limit=1) == [again, proposed]


async def test_a_page_of_the_history_ends_early_where_versions_are_long(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    for version in (1, 2):
        await api.post(f"/documents/{document_id}/review", **correct(version, total_gross=f"{118 + version}"))
    await site.pool.execute("update ingestion.document_history set extraction = $1", {"lines": ["x" * 3_000_000]})
    versions: list[int] = []
    cursor: str | None = None
    while cursor is not None or not versions:
        query = {} if cursor is None else {"cursor": cursor}
        page = (await api.get(f"/documents/{document_id}/history", params=query)).json()
        assert len(page["items"]) == 1
        versions += [entry["version"] for entry in page["items"]]
        cursor = page["next_cursor"]
    assert versions == [3, 2, 1]


async def test_a_reading_that_says_the_same_proposes_nothing(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    await read_again(site, document_id, DOUBTFUL)
    assert [entry["kind"] for entry in await list_history(api, document_id)] == [
        "reread_not_taken",
        "corrected",
        "read",
    ]


async def test_another_reading_that_changes_nothing_is_in_the_history_and_nowhere_else(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    shown = (await api.get(f"/documents/{document_id}")).json()
    await read_again(site, document_id, DOUBTFUL, "r1")
    unchanged, read = await list_history(api, document_id)
    assert (unchanged["kind"], unchanged["reader"], unchanged["version"]) == ("reread_unchanged", "layout-rules/1", 1)
    assert (read["kind"], unchanged["recorded_at"] >= read["recorded_at"]) == ("read", True)
    assert (await api.get(f"/documents/{document_id}")).json() == shown

    await site.rereads.request_document("acme", document_id, "r2")
    gone = DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.BLOB_MISSING)
    assert await site.leases.finish_document(await site.claim_document(), DOUBTFUL, failed=gone)
    failed = (await list_history(api, document_id))[0]
    assert (failed["kind"], failed["status"], failed["reason"]) == ("reread_failed", "failed", "blob_missing")

    await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    assert [entry["kind"] for entry in await list_history(api, document_id)] == ["corrected", "reread_failed", "read"]
    await read_again(site, document_id, replace(DOUBTFUL, reader="layout-rules/2"), "r3")
    assert [entry["kind"] for entry in await list_history(api, document_id)] == ["proposed", "corrected", "read"]


async def test_a_decision_during_another_reading_stands(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    await site.rereads.request_document("acme", document_id, "r1")
    lease = await site.claim_document()
    await api.post(f"/documents/{document_id}/review", **correct(1, total_gross="119"))
    path = await site.leases.reserve_archive_path(lease, ["archive/1.pdf"])
    assert await site.leases.finish_document(lease, replace(DONE, archive_path=path))
    current = await site.document(document_id)
    # The copy was written; only of that the results say something new.
    assert (current["extraction"]["total_gross"], current["archive_path"]) == ("119.00", "archive/1.pdf")
    assert [entry["kind"] for entry in await list_history(api, document_id)][:2] == ["proposed", "corrected"]


async def test_another_reading_of_what_nobody_decided_keeps_the_former_version(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    await read_again(site, document_id, replace(DOUBTFUL, reader="layout-rules/2"))
    newest, former = await list_history(api, document_id)
    assert [(entry["version"], entry["kind"], entry["reader"]) for entry in (newest, former)] == [
        (2, "read", "layout-rules/2"),
        (1, "read", "layout-rules/1"),
    ]


async def test_a_document_that_is_not_read_yet_is_not_reviewed_and_has_no_history(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    record = build_record()
    await site.intakes.record_attachment(record)
    answer = await api.post(
        f"/documents/{record.attachment_id}/review", json={"action": "confirm"}, headers={"If-Match": "1"}
    )
    assert (answer.status_code, answer.json()["detail"]) == (409, "It is not read yet.")
    assert await list_history(api, record.attachment_id) == []


async def test_a_viewer_decides_nothing_and_another_tenant_finds_nothing(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    path, body = f"/documents/{document_id}/review", {"action": "reject"}
    viewer = await api.post(path, json=body, headers={**as_tenant("acme"), "If-Match": "1"})
    other = await api.post(path, json=body, headers={**as_tenant("other", "operator"), "If-Match": "1"})
    history = await api.get(f"/documents/{document_id}/history", headers=as_tenant("other"))
    assert (viewer.status_code, other.status_code, history.status_code) == (403, 404, 404)
    assert (await site.document(document_id))["review_decision"] is None


async def test_confirming_what_is_confirmed_is_no_version_and_no_second_entry(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    path = f"/documents/{document_id}/review"
    await api.post(path, json={"action": "confirm"}, headers={"If-Match": "1"})
    again = await api.post(path, json={"action": "confirm"}, headers={"If-Match": "2"})
    assert (again.status_code, again.json()["version"]) == (200, 2)
    assert [entry["kind"] for entry in await list_history(api, document_id)] == ["confirmed", "read"]


async def test_rejecting_what_is_rejected_is_no_version_and_a_correction_takes_it_up_again(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    path = f"/documents/{document_id}/review"
    await api.post(path, json={"action": "reject"}, headers={"If-Match": "1"})
    again = await api.post(path, json={"action": "reject"}, headers={"If-Match": "2"})
    assert (again.status_code, again.json()["version"]) == (200, 2)
    confirmed = await api.post(path, json={"action": "confirm"}, headers={"If-Match": "2"})
    assert (confirmed.status_code, "correct it" in confirmed.json()["detail"]) == (409, True)
    taken_up = await api.post(path, **correct(2, invoice_number=FIELDS["invoice_number"]))
    assert (taken_up.json()["status"], taken_up.json()["version"]) == ("completed", 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "approve"},
        {"action": "correct"},
        {"action": "correct", "fields": {}},
        {"action": "confirm", "fields": {"currency": "EUR"}},
        {"action": "correct", "fields": {"surprise": 1}},
        {"action": "correct", "fields": {"currency": "euro"}},
        {"action": "correct", "fields": {"total_gross": "NaN"}},
        {"action": "correct", "fields": {"total_gross": "1e30"}},
        {"action": "correct", "fields": {"issue_date": "01.04.2026"}},
        {"action": "correct", "fields": {"iban": "DE89370400440532013001"}},
        {"action": "correct", "fields": {"supplier_name": "\x00"}},
        {"action": "correct", "document_type": "letter"},
    ],
)
async def test_what_is_wrong_is_refused(site: Ingestion, api: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    document_id = await finish_document(site)
    answer = await api.post(f"/documents/{document_id}/review", json=wrong, headers={"If-Match": "1"})
    assert answer.status_code == 422
    assert (await site.document(document_id))["review_decision"] is None


async def test_an_iban_is_stored_without_blanks(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    answer = await api.post(f"/documents/{document_id}/review", **correct(1, iban="de89 3704 0044 0532 0130 00"))
    assert answer.json()["extraction"]["iban"] == "DE89370400440532013000"


SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.8)
WHOLE = {name: FIELDS[name] for name in ("supplier_name", "invoice_number", "issue_date", "currency", "total_gross")}


async def test_what_was_skipped_and_is_corrected_is_read_again_for_its_copy_in_the_archive(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site, SKIPPED)
    assert (await api.post(f"/documents/{document_id}/review", **correct(1, **WHOLE))).json()["status"] == "completed"
    lease = await site.claim_document()
    assert lease.is_decided
    await site.leases.finish_document(lease, replace(SKIPPED, archive_path="archive/1.pdf"))
    document = await site.document(document_id)
    assert (document["status"], document["archive_path"]) == ("completed", "archive/1.pdf")
    assert "proposed" not in [entry["kind"] for entry in await list_history(api, document_id)]
    assert await site.leases.claim_document() is None


async def test_a_decision_during_a_reading_has_the_document_read_once_more_for_its_copy(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site, SKIPPED)
    await site.rereads.request_document("acme", document_id, "r1")
    lease = await site.claim_document()
    await api.post(f"/documents/{document_id}/review", **correct(1, **WHOLE))
    await site.leases.finish_document(lease, SKIPPED)
    again = await site.claim_document()
    assert again.is_decided
    # That reading knows of the decision: where it writes no copy none is asked for again.
    await site.leases.finish_document(again, SKIPPED)
    assert await site.leases.claim_document() is None


async def test_a_rejection_writes_no_copy(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site, SKIPPED)
    await api.post(f"/documents/{document_id}/review", json={"action": "reject"}, headers={"If-Match": '"1"'})
    assert await site.leases.claim_document() is None
