"""`mailroom dlq`, `tail` and `topics lag` on real Kafka."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from cli_site import CliSite, build_attachment, build_notification, open_cli_site

from mailroom_common.errors import Rejected
from mailroom_common.kafka.codec import MARKER
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.topics import ATTACHMENTS, NOTIFICATIONS

pytestmark = pytest.mark.stack


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[CliSite]:
    async with open_cli_site(kafka_bootstrap) as site:
        yield site


async def write_dead_letters(site: CliSite) -> list[Any]:
    """One that can be retried, one of an unknown schema, one that is no event."""
    await site.producer.send_event(ATTACHMENTS, "active:m1", build_attachment("active", "m1"))
    name = site.kafka.name(ATTACHMENTS)
    await site.producer.send_raw(name, b"active:m2", MARKER + b"12345678" + b"body", [])
    await site.producer.send_raw(name, b"active:m3", b"no event", [("traceparent", b"t")])
    written = sorted(await site.kafka.read_all(ATTACHMENTS.name), key=lambda raw: bytes(raw.key))
    dead_letters = DeadLetterWriter(site.producer, "ingestion")
    for raw in written:
        await dead_letters.write_dead_letter(
            ATTACHMENTS, raw, RecordFailure(Rejected("of no use"), 1, datetime.now(UTC))
        )
    return written


async def read_open_ids(site: CliSite) -> dict[str, str]:
    """Id by key of the record."""
    found = {}
    for letter in await site.run_json("dlq", "list", "attachments"):
        (view,) = [await site.run_json("dlq", "show", letter["id"])]
        found[view["key"]] = letter["id"]
    return found


async def test_dead_letters_are_listed_retried_once_and_discarded(site: CliSite) -> None:
    written = await write_dead_letters(site)
    ids = await read_open_ids(site)
    assert set(ids) == {"active:m1", "active:m2", "active:m3"}
    shown = await site.run_json("dlq", "show", ids["active:m1"])
    assert (shown["facts"]["error"], shown["event"]["subject"]) == ("of no use", "***")
    assert "unreadable" in await site.run_json("dlq", "show", ids["active:m2"])

    would = await site.run_json("dlq", "retry", ids["active:m1"], "--dry-run")
    assert would["retried"] == [ids["active:m1"]]
    assert len(await site.kafka.read_all(ATTACHMENTS.name)) == 3
    for _ in range(2):
        await site.run_json("dlq", "retry", ids["active:m1"])
    records = await site.kafka.read_all(ATTACHMENTS.name)
    (first, again) = [raw for raw in records if raw.key == b"active:m1"]
    assert (again.value, again.headers) == (first.value, first.headers)

    # A consumer stops at a schema that it does not know, so that one needs a word more.
    refused = await site.run("dlq", "retry", "--topic", "attachments")
    assert (refused.exit_code, "would stop at it" in str(refused.exception)) == (1, True)
    assert set(await read_open_ids(site)) == {"active:m2"}
    assert len(await site.kafka.read_all(ATTACHMENTS.name)) == len(written) + 2

    await site.run_json("dlq", "discard", ids["active:m2"])
    late = await site.run_json("dlq", "retry", ids["active:m2"], "--force")
    assert (late["retried"], late["earlier"]) == ([], {ids["active:m2"]: "discarded"})
    assert await site.run_json("dlq", "list", "attachments") == []
    everything = await site.run_json("dlq", "list", "attachments", "--all")
    assert sorted(letter["resolution"] for letter in everything) == ["discarded", "retried", "retried"]


async def test_tail_shows_records_filtered_and_masked_and_lag_counts_what_is_unfinished(site: CliSite) -> None:
    await site.producer.send_event(NOTIFICATIONS, "active", build_notification("active"))
    await site.producer.send_event(NOTIFICATIONS, "theirs", build_notification("theirs", tenant="other"))
    await site.kafka.write_raw(NOTIFICATIONS.name, [(b"active", b"no event")])
    shown = await site.run("tail", "notifications", "--tenant", "other", "--json")
    assert '"doc_source_id": "theirs"' in shown.stdout
    assert '"doc_source_id": "active"' not in shown.stdout
    readable = await site.run("tail", "notifications", "--doc-source", "active")
    assert "provider_event=***" in readable.stdout
    assert "unreadable" in readable.stdout
    assert "secret words" not in shown.stdout + readable.stdout
    open_text = await site.run("tail", "notifications", "--contents")
    assert "secret words" in open_text.stdout
    unknown = await site.run("tail", "surprise")
    assert (unknown.exit_code, "there is no topic surprise" in str(unknown.exception)) == (1, True)

    group = f"{site.kafka.topic_prefix}mailroom.test.group"
    await site.commit_beginning(group, NOTIFICATIONS)
    (lag,) = await site.run_json("topics", "lag")
    assert (lag["group"], lag["topic"], lag["records"]) == ("mailroom.test.group", "notifications", 3)
