"""`GET /documents/events` over real HTTP: reconnecting anywhere, restarts, tickets, tenants."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from event_source import ReceivedEvent, open_stream, read_events
from ingestion_fakes import build_record
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import DONE, Ingestion

from ingestion.adapters.document_events import PgEventLog

pytestmark = pytest.mark.stack


@pytest.fixture
async def url(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[str]:
    async with running_api(api_settings(postgres_url, tmp_path / "blobs")) as address:
        yield address


async def record_documents(site: Ingestion, *numbers: int, tenant: str = "acme") -> list[str]:
    """Documents that come in, each an event, numbered as the worker would."""
    found = []
    for number in numbers:
        record = build_record(f"%PDF- {tenant} {number}".encode(), message=f"m{number}", tenant=tenant, source=tenant)
        await site.intakes.record_attachment(record)
        await site.events.assign_numbers()
        found.append(record.attachment_id)
    return found


def read_document_ids(events: list[ReceivedEvent]) -> list[str]:
    return [json.loads(event.data)["id"] for event in events]


async def test_each_change_is_sent_as_it_happens(site: Ingestion, url: str) -> None:
    async with open_stream(url, headers=as_tenant("acme")) as stream:
        (document,) = await record_documents(site, 1)
        await site.leases.finish_document(await site.claim_document(), DONE)
        await site.events.assign_numbers()
        created, finished = await read_events(stream, 2)
    assert (created.event, created.id, json.loads(created.data)["status"]) == ("document", "1", "pending")
    told = json.loads(finished.data)
    assert (finished.id, told["id"], told["status"]) == ("2", document, "completed")
    assert told["extraction"] == {"invoice_number": "1"}


async def test_a_stream_without_an_id_begins_now(site: Ingestion, url: str) -> None:
    await record_documents(site, 1, 2)
    async with open_stream(url, headers=as_tenant("acme")) as stream:
        new = await record_documents(site, 3)
        assert read_document_ids(await read_events(stream, 1)) == new


async def read_first_id(url: str) -> str:
    """As a browser that is cut off at once: it has seen no event."""
    async with (
        httpx.AsyncClient(timeout=30, headers=as_tenant("acme")) as client,
        client.stream("GET", f"{url}/documents/events") as answer,
    ):
        return await anext(aiter(answer.aiter_lines()))


async def test_a_client_cut_off_before_its_first_event_comes_back_with_its_position(site: Ingestion, url: str) -> None:
    await record_documents(site, 1, 2)
    await record_documents(site, 1, tenant="other")
    assert await read_first_id(url) == "id: 2"
    meanwhile = await record_documents(site, 3)
    async with open_stream(url, headers={**as_tenant("acme"), "Last-Event-ID": "2"}) as stream:
        assert read_document_ids(await read_events(stream, 1)) == meanwhile


async def test_reconnecting_at_any_point_gives_every_event_once(site: Ingestion, url: str) -> None:
    recorded = await record_documents(site, *range(8))
    for point in range(9):
        headers = {**as_tenant("acme"), "Last-Event-ID": str(point)}
        async with open_stream(url, headers=headers) as stream:
            events = await read_events(stream, 8 - point)
        assert read_document_ids(events) == recorded[point:]
        assert [event.id for event in events] == [str(number) for number in range(point + 1, 9)]


async def test_an_api_that_restarts_loses_and_repeats_nothing(
    site: Ingestion, postgres_url: str, tmp_path: Path
) -> None:
    seen: list[ReceivedEvent] = []
    recorded: list[str] = []
    for life in range(3):
        async with running_api(api_settings(postgres_url, tmp_path / "blobs")) as url:
            headers = {**as_tenant("acme"), "Last-Event-ID": seen[-1].id or "" if seen else "0"}
            async with open_stream(url, headers=headers) as stream:
                recorded += await record_documents(site, 10 * life, 10 * life + 1)
                seen += await read_events(stream, len(recorded) - len(seen) - (1 if life == 1 else 0))
        recorded += await record_documents(site, 10 * life + 2)  # while there is no API
    headers = {**as_tenant("acme"), "Last-Event-ID": seen[-1].id or ""}
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        open_stream(url, headers=headers) as stream,
    ):
        seen += await read_events(stream, len(recorded) - len(seen))
    assert read_document_ids(seen) == recorded


async def test_an_event_of_a_late_transaction_is_sent_late_and_not_lost(site: Ingestion, url: str) -> None:
    insert = "insert into ingestion.document_event (tenant_id, document_id, document) values ('acme', $1, $2)"
    async with site.pool.acquire() as early, open_stream(url, headers=as_tenant("acme")) as stream:
        transaction = early.transaction()
        await transaction.start()
        await early.execute(insert, "first", {"id": "first"})
        await site.pool.execute(insert, "second", {"id": "second"})
        await site.events.assign_numbers()
        before = await read_events(stream, 1)
        await transaction.commit()
        await site.events.assign_numbers()
        assert read_document_ids(before + await read_events(stream, 1)) == ["second", "first"]


async def test_a_stop_ends_open_streams_at_once(site: Ingestion, postgres_url: str, tmp_path: Path) -> None:
    async with running_api(api_settings(postgres_url, tmp_path / "blobs")) as url:
        stream = open_stream(url, headers=as_tenant("acme"))
        await stream.__aenter__()
    # `running_api` has returned: the stream did not hold the server up.
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.TransportError):
            await client.get(url)


async def test_an_id_that_is_too_old_begins_with_a_reset_and_what_is_left(site: Ingestion, url: str) -> None:
    recorded = await record_documents(site, *range(4))
    await site.pool.execute(
        "update ingestion.document_event set created_at = now() - interval '40 days' where seq <= 2"
    )
    await PgEventLog(site.pool).delete_events(older_than=timedelta(days=30))
    async with open_stream(url, headers={**as_tenant("acme"), "Last-Event-ID": "1"}) as stream:
        reset, *rest = await read_events(stream, 3)
    assert (reset.event, reset.id) == ("reset", "2")
    assert json.loads(reset.data) == {"reason": "too_old", "resumes_after": 2}
    assert read_document_ids(rest) == recorded[2:]
    async with open_stream(url, headers={**as_tenant("acme"), "Last-Event-ID": "2"}) as stream:
        assert read_document_ids(await read_events(stream, 2)) == recorded[2:]


async def test_an_id_of_another_life_of_the_database_begins_with_a_reset(site: Ingestion, url: str) -> None:
    await record_documents(site, 1)
    async with open_stream(url, headers={**as_tenant("acme"), "Last-Event-ID": "77"}) as stream:
        (reset,) = await read_events(stream, 1)
        assert (reset.event, reset.id) == ("reset", "1")
        assert json.loads(reset.data) == {"reason": "unknown", "resumes_after": 1}
        new = await record_documents(site, 2)
        assert read_document_ids(await read_events(stream, 1)) == new


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 30])
async def test_an_id_that_is_none_is_refused(url: str, given: str) -> None:
    headers = {**as_tenant("acme"), "Last-Event-ID": given}
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{url}/documents/events", headers=headers)
    assert answer.status_code == 422


async def test_a_tenant_hears_nothing_of_another(site: Ingestion, url: str) -> None:
    async with (
        open_stream(url, headers={**as_tenant("acme"), "Last-Event-ID": "0"}) as ours,
        open_stream(url, headers={**as_tenant("other"), "Last-Event-ID": "0"}) as theirs,
    ):
        a1 = await record_documents(site, 1, tenant="acme")
        o1 = await record_documents(site, 1, tenant="other")
        a2 = await record_documents(site, 2, tenant="acme")
        assert read_document_ids(await read_events(ours, 2)) == a1 + a2
        assert read_document_ids(await read_events(theirs, 1)) == o1


async def test_a_ticket_opens_one_stream_of_its_tenant(site: Ingestion, url: str) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{url}/documents/events/tickets", headers=as_tenant("other"))
        assert answer.status_code == 201
        ticket = answer.json()["ticket"]
        assert answer.json()["expires_at"].endswith("Z")
        await record_documents(site, 1, tenant="acme")
        theirs = await record_documents(site, 1, tenant="other")
        async with open_stream(url, params={"ticket": ticket, "last_event_id": "0"}) as stream:
            assert read_document_ids(await read_events(stream, 1)) == theirs
        again = await client.get(f"{url}/documents/events", params={"ticket": ticket})
        assert again.status_code == 401
    held = await site.pool.fetch("select ticket_sha256 from ingestion.event_ticket")
    assert held == []


async def test_a_ticket_is_kept_as_its_hash_and_expires(site: Ingestion, postgres_url: str, tmp_path: Path) -> None:
    settings = api_settings(postgres_url, tmp_path / "blobs", event_ticket_s=0.05)
    async with running_api(settings) as url, httpx.AsyncClient() as client:
        ticket = (await client.post(f"{url}/documents/events/tickets", headers=as_tenant("acme"))).json()["ticket"]
        (row,) = await site.pool.fetch("select * from ingestion.event_ticket")
        assert ticket not in str(dict(row))
        await asyncio.sleep(0.1)  # past its end
        answer = await client.get(f"{url}/documents/events", params={"ticket": ticket})
        assert answer.status_code == 401
        for _ in range(2):
            # One that nobody used goes when the next is issued.
            await client.post(f"{url}/documents/events/tickets", headers=as_tenant("acme"))
            await asyncio.sleep(0.1)  # past its end
        assert await site.pool.fetchval("select count(*) from ingestion.event_ticket") == 1


async def test_a_silent_stream_has_a_heartbeat(url: str) -> None:
    async with (
        httpx.AsyncClient(timeout=30) as client,
        client.stream("GET", f"{url}/documents/events", headers=as_tenant("acme")) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        async for line in answer.aiter_lines():
            if line.startswith(":"):
                break
