"""`POST /documents/{id}/password` on a real database, over real HTTP."""

from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import pytest
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, SCHEMA, Ingestion, utc_now

from ingestion.adapters.document_passwords import PasswordSweeper
from ingestion.adapters.leases import PgDocumentLeases
from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from mailroom_common.events import ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.tokens.sealing import SealingKeys

pytestmark = pytest.mark.stack

KEYS = f"k1:{b64encode(bytes(32)).decode()}"
OTHER_KEYS = f"k2:{b64encode(bytes([1] * 32)).decode()}"
LOCKED = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.PASSWORD_REQUIRED)
WRONG = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.PASSWORD_WRONG)
OPERATOR = as_tenant("acme", "operator")


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs", token_keys=KEYS)) as url,
        httpx.AsyncClient(base_url=url, timeout=10) as client,
    ):
        yield client


def worker_with_keys(site: Ingestion, *, keys: str = KEYS, lease_s: float = 30) -> PgDocumentLeases:
    return PgDocumentLeases(
        site.pool,
        Outbox(SCHEMA, site.codec),
        duration=timedelta(seconds=lease_s),
        clock=utc_now,
        password_keys=SealingKeys.parse_keys(keys),
    )


async def finish_document(site: Ingestion, outcome: DocumentOutcome = LOCKED) -> str:
    record = build_record(message=str(uuid4()), source=str(uuid4()))
    await site.intakes.record_attachment(record)
    await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def give(api: httpx.AsyncClient, document_id: str, password: str = "open sesame") -> httpx.Response:  # noqa: S107
    return await api.post(f"/documents/{document_id}/password", json={"password": password}, headers=OPERATOR)


async def claim(leases: PgDocumentLeases) -> DocumentLease:
    lease = await leases.claim_document()
    assert lease is not None
    return lease


async def list_sealed(pool: asyncpg.Pool) -> list[str | None]:
    rows = await pool.fetch("select sealed from ingestion.document_password order by password_id")
    return [row["sealed"] for row in rows]


async def test_a_password_is_sealed_until_the_reading_that_uses_it_ends(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    answer = await give(api, document_id)
    assert (answer.status_code, answer.json()["review_reason"]) == (202, "password_required")
    (sealed,) = await list_sealed(site.pool)
    assert sealed is not None
    assert "sesame" not in sealed

    # A worker that was killed: its lease ends, and the next one has the password too.
    killed = await claim(worker_with_keys(site, lease_s=0))
    lease = await claim(worker_with_keys(site))
    for holder in (killed, lease):
        assert holder.password is not None
        assert holder.password.text == "open sesame"
    assert await worker_with_keys(site).finish_document(lease, DONE)
    assert await list_sealed(site.pool) == [None]
    assert (await site.document(document_id))["status"] == "completed"
    assert await site.leases.claim_document() is None


async def test_a_wrong_password_is_told_and_the_next_one_is_tried(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    await give(api, document_id, "wrong")
    leases = worker_with_keys(site)
    await leases.finish_document(await claim(leases), WRONG)
    shown = await api.get(f"/documents/{document_id}", headers=OPERATOR)
    assert shown.json()["review_reason"] == "password_wrong"
    assert (await give(api, document_id)).status_code == 202
    await leases.finish_document(await claim(leases), DONE)
    # A newer reader needs it once more, since it was forgotten.
    assert (await give(api, document_id)).status_code == 202


async def test_a_password_that_comes_during_a_reading_is_used_by_the_next_one(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    await give(api, document_id, "first")
    leases = worker_with_keys(site)
    lease = await claim(leases)
    await give(api, document_id, "second")
    assert await site.leases.claim_document() is None
    await leases.finish_document(lease, WRONG)
    after = await claim(leases)
    assert after.password is not None
    assert after.password.text == "second"


async def test_of_passwords_that_are_given_at_once_each_is_tried(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    for password in ("right", "wrong", "right too"):
        assert (await give(api, document_id, password)).status_code == 202
    leases, tried = worker_with_keys(site), []
    while (lease := await leases.claim_document()) is not None:
        assert lease.password is not None
        tried.append(lease.password.text)
        await leases.finish_document(lease, DONE)
    assert tried == ["right", "wrong", "right too"]
    assert await list_sealed(site.pool) == [None] * 3


async def test_a_password_that_cannot_be_opened_is_in_no_others_way(site: Ingestion, api: httpx.AsyncClient) -> None:
    document_id = await finish_document(site)
    for password in ("first", "second"):
        await give(api, document_id, password)
    await site.pool.execute(
        "update ingestion.document_password set sealed = 'k9:x' "
        "where password_id = (select min(password_id) from ingestion.document_password)"
    )
    worker = worker_with_keys(site)
    lease = await claim(worker)
    assert lease.password is not None
    assert lease.password.text == "second"
    await worker.finish_document(lease, DONE)
    assert await worker.claim_document() is None, "it would be read without end"


async def test_a_password_whose_key_is_gone_has_the_document_read_once_and_leaves_it_locked(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    document_id = await finish_document(site)
    await give(api, document_id)
    worker = worker_with_keys(site, keys=OTHER_KEYS)
    lease = await claim(worker)
    assert lease.password is not None
    assert lease.password.text is None
    assert await worker.finish_document(lease, LOCKED)
    assert await worker.claim_document() is None, "it would be read without end"
    await give(api, document_id)
    assert await worker.claim_document() is not None


async def test_what_no_worker_read_within_a_day_is_forgotten(site: Ingestion, api: httpx.AsyncClient) -> None:
    for _ in range(2):
        await give(api, await finish_document(site))
    await site.pool.execute(
        "update ingestion.document_password set given_at = now() - interval '25 hours' "
        "where password_id = (select min(password_id) from ingestion.document_password)"
    )
    assert await PasswordSweeper(site.pool).forget_old_passwords() == 1
    first, second = await list_sealed(site.pool)
    assert (first, second is not None) == (None, True)


async def test_only_a_locked_document_takes_a_password(site: Ingestion, api: httpx.AsyncClient) -> None:
    assert (await give(api, await finish_document(site, DONE))).status_code == 409
    record = build_record(message="unread", source=str(uuid4()))
    await site.intakes.record_attachment(record)
    assert (await give(api, record.attachment_id)).status_code == 409
    assert await list_sealed(site.pool) == []


async def test_passwords_are_limited_by_document_and_by_tenant(site: Ingestion, api: httpx.AsyncClient) -> None:
    tried, other = await finish_document(site), await finish_document(site)
    answers = [(await give(api, tried, str(number))).status_code for number in range(11)]
    assert answers == [202] * 10 + [429]
    assert (await give(api, other)).status_code == 202
    await site.pool.execute(
        "insert into ingestion.document_password (document_id, tenant_id, api_key_id) "
        "select $1, 'acme', 'k' from generate_series(1, 100)",
        tried,
    )
    refused = await give(api, other)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")


async def test_a_viewer_and_another_tenant_open_nothing(site: Ingestion, api: httpx.AsyncClient) -> None:
    path = f"/documents/{await finish_document(site)}/password"
    body = {"password": "open sesame"}
    assert (await api.post(path, json=body, headers=as_tenant("acme"))).status_code == 403
    assert (await api.post(path, json=body, headers=as_tenant("other", "operator"))).status_code == 404
    assert (await api.post(path, json=body)).status_code == 401
    assert await list_sealed(site.pool) == []
