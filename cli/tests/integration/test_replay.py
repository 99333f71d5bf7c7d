"""`mailroom replay` from topic to topic on real Kafka."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cli_site import CliSite, build_notification, open_cli_site
from kafka_site import eventually

from mailroom_common.events import SyncReason, SyncRequest
from mailroom_common.kafka.headers import decode_headers
from mailroom_common.topics import (
    ATTACHMENTS,
    ATTACHMENTS_BACKFILL,
    NOTIFICATIONS,
    SYNC_REQUESTS_BACKFILL,
    Topic,
)

pytestmark = pytest.mark.stack


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[CliSite]:
    async with open_cli_site(kafka_bootstrap) as site:
        await site.connect_sources()
        yield site


async def read_replayed(site: CliSite, topic: Topic = ATTACHMENTS_BACKFILL) -> list[Any]:
    return await site.kafka.read_all(topic.name)


async def test_notifications_become_one_request_for_each_doc_source_that_is_to_be_synced(site: CliSite) -> None:
    for source in ("active", "active", "paused", "deleting", "unknown"):
        await site.producer.send_event(NOTIFICATIONS, source, build_notification(source))
    await site.producer.send_event(NOTIFICATIONS, "theirs", build_notification("theirs", tenant="acme"))
    counts = {
        "sent": 1,
        "of doc sources asked for before": 1,
        "of paused doc sources": 1,
        "of deleted doc sources": 2,
        "of another tenant than the doc source": 1,
    }

    counted = await site.run_json("replay", "notifications", "--all", "--dry-run")
    assert (counted["counts"], counted["records"]) == (counts, 6)
    assert await read_replayed(site, SYNC_REQUESTS_BACKFILL) == []

    replayed = await site.run_json("replay", "notifications", "--all", "--replay-id", "r1")
    assert replayed["counts"] == counts
    (raw,) = await read_replayed(site, SYNC_REQUESTS_BACKFILL)
    request = site.codec.decode(SYNC_REQUESTS_BACKFILL, raw.value)
    assert isinstance(request, SyncRequest)
    assert (raw.key, request.reasons, request.tenant_id) == (b"active", [SyncReason.REPLAY], "acme")


async def test_attachments_are_sent_as_they_were_with_the_replays_id(site: CliSite) -> None:
    await site.send_attachments(3)
    await site.send_attachments(2, source="theirs", tenant="other")
    await site.send_attachments(1, source="gone")
    counted = await site.run_json("replay", "attachments", "--since", "1h", "--tenant", "acme", "--dry-run")
    assert counted["counts"] == {"sent": 3, "not selected": 2, "of deleted doc sources": 1}

    await site.run_json("replay", "attachments", "--since", "1h", "--tenant", "acme", "--replay-id", "r1")
    replayed = await read_replayed(site)
    originals = {raw.key: raw for raw in await site.kafka.read_all(ATTACHMENTS.name)}
    assert len(replayed) == 3
    for raw in replayed:
        headers = decode_headers(raw.headers)
        assert raw.value == originals[raw.key].value
        assert headers.pop("mr-replay-id") == "r1"
        assert headers == decode_headers(originals[raw.key].headers)

    again = await site.run_json("replay", "attachments", "--all", "--tenant", "acme", "--replay-id", "r1")
    assert (again["records"], again["counts"]) == (0, {})
    other_filters = await site.run("replay", "attachments", "--all", "--replay-id", "r1")
    assert (other_filters.exit_code, "other filters" in str(other_filters.exception)) == (1, True)

    await site.kafka.write_raw(ATTACHMENTS.name, [(b"active:x", b"no avro at all")], partition=1)
    second = await site.run("replay", "attachments", "--all", "--tenant", "acme", "--replay-id", "r2")
    assert f"{ATTACHMENTS.name}/1@" in str(second.exception), "what cannot be read is named"
    assert len(await read_replayed(site)) == 6, "neither what cannot be read nor what was replayed"


async def test_a_replay_that_was_killed_goes_on_where_kafka_knows_that_it_was(site: CliSite) -> None:
    await site.send_attachments(60)
    command = ["replay", "attachments", "--all", "--replay-id", "r1", "--rate", "10"]
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mailroom_cli", *command, env=site.environment, stderr=asyncio.subprocess.DEVNULL
    )

    async def sent_some() -> bool:
        return len(await read_replayed(site)) >= 25

    await eventually(sent_some, within_s=60)
    killed.kill()
    await killed.wait()
    before = len(await read_replayed(site))
    await site.send_attachments(1, source="active-later")  # the end was fixed when it began

    rest = await site.run_json(*command[:-1], "0")
    sent = Counter(raw.key for raw in await read_replayed(site))
    assert before < 60
    assert set(sent) == {f"active:m{number}".encode() for number in range(60)}
    assert rest["counts"]["sent"] < 60
    assert max(sent.values()) <= 2, "only what was sent after the last commit is sent once more"
