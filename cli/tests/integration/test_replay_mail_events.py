"""`mailroom replay mail-events` on real Kafka, from an API of a few recorded events."""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from cli_site import NOW, CliSite, open_cli_site

from mailroom_common.events import MailEvent, MailKind
from mailroom_common.kafka.headers import decode_headers
from mailroom_common.topics import MAIL_EVENTS

pytestmark = pytest.mark.stack
DOC_SOURCE = "5d1cbe51-0a4e-4f0e-9a55-6f1d0c6f2a11"


def build_event(number: int) -> MailEvent:
    return MailEvent(
        event_id=f"e{number:03}",
        occurred_at=NOW,
        tenant_id="acme",
        doc_source_id=DOC_SOURCE,
        kind=MailKind.CHANGED,
        message_id="m1",
        from_name="Ada \u00c4",
        flag="flagged",
        received_at=NOW,
        categories=["red"],
    )


@dataclass
class RecordedEvents:
    """`GET /mail-events` of sync-engine: one event a second."""

    events: list[MailEvent]
    pages_left: int = 1_000_000
    queries: list[dict[str, str]] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.path) == ("GET", "/mail-events")
        query = dict(request.url.params)
        self.queries.append(query)
        if not self.pages_left:
            return httpx.Response(503, json={"title": "not now"})
        self.pages_left -= 1
        return httpx.Response(200, json=self._list_page(query))

    def _list_page(self, query: dict[str, str]) -> dict[str, Any]:
        since, until = (datetime.fromisoformat(query.get(name, default)) for name, default in _ALL_TIMES.items())
        recorded = [(NOW + timedelta(seconds=number), event) for number, event in enumerate(self.events)]
        found = [(at, event) for at, event in recorded if since <= at < until]
        start, limit = int(query.get("cursor", 0)), int(query["limit"])
        items = [
            {**asdict(event), "occurred_at": event.occurred_at.isoformat(), "received_at": NOW.isoformat()}
            | {"recorded_at": at.isoformat()}
            for at, event in found[start : start + limit]
        ]
        end = start + limit
        return {"items": items, "next_cursor": str(end) if end < len(found) else None}


_ALL_TIMES = {"since": "1970-01-01T00:00:00+00:00", "until": "2100-01-01T00:00:00+00:00"}


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[CliSite]:
    async with open_cli_site(kafka_bootstrap) as site:
        yield site


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> RecordedEvents:
    fake, real = RecordedEvents([build_event(number) for number in range(7)]), httpx.Client

    def open_client(**options: Any) -> httpx.Client:
        return real(transport=httpx.MockTransport(fake.answer), timeout=options["timeout"])

    monkeypatch.setattr("mailroom_cli.site_api.httpx.Client", open_client)
    monkeypatch.setenv("MAILROOM_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MAILROOM_API_KEY", "key-of-acme")
    return fake


async def test_events_are_sent_again_as_they_were_and_in_their_order(site: CliSite, api: RecordedEvents) -> None:
    counted = await site.run_json("replay", "mail-events", "--all", "--dry-run")
    assert counted["records"] == 7
    assert await site.kafka.read_all(MAIL_EVENTS.name) == []

    since = (NOW + timedelta(seconds=2)).isoformat()
    sent = await site.run_json(
        "replay", "mail-events", "--since", since, "--doc-source", DOC_SOURCE, "--replay-id", "r1"
    )
    assert sent["records"] == 5
    assert api.queries[-1]["doc_source_id"] == DOC_SOURCE
    records = await site.kafka.read_all(MAIL_EVENTS.name)
    assert [site.codec.decode(MAIL_EVENTS, raw.value) for raw in records] == api.events[2:]
    assert {raw.key for raw in records} == {DOC_SOURCE.encode()}
    assert {decode_headers(raw.headers)["mr-replay-id"] for raw in records} == {"r1"}
    assert [decode_headers(raw.headers)["ce_id"] for raw in records] == [f"e{number:03}" for number in range(2, 7)]


async def test_a_replay_of_events_that_was_cut_off_goes_on_behind_what_it_sent(
    site: CliSite, api: RecordedEvents
) -> None:
    words = ("replay", "mail-events", "--all", "--rate", "2", "--replay-id", "r1")
    api.pages_left = 3  # one that says whose events these are, and two of two events each
    assert (await site.run(*words)).exit_code != 0
    assert len(await site.kafka.read_all(MAIL_EVENTS.name)) == 4
    api.pages_left = 100
    assert (await site.run_json(*words))["records"] == 4, "the last one once more, and the other three"
    assert (await site.run_json(*words))["records"] == 0, "it is through"
    records = await site.kafka.read_all(MAIL_EVENTS.name)
    ids = [site.codec.decode(MAIL_EVENTS, raw.value).event_id for raw in records]
    assert sorted(set(ids)) == [event.event_id for event in api.events]
    others = await site.run("replay", "mail-events", "--all", "--doc-source", DOC_SOURCE, "--replay-id", "r1")
    assert "other filters" in str(others.exception)
