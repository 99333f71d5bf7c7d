"""The life of a connection over the sandbox's providers, real Kafka and real Postgres."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from manager_site import ManagerSite, manager_site, wait_for_answer

from mailroom_common.events import (
    ConnectionEvent,
    ConnectionKind,
    DocSource,
    LifecycleEvent,
    LifecycleKind,
    SyncReason,
    SyncRequest,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import VERSION
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.postgres import open_pool
from mailroom_common.settings import TenantReach
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topics import CONNECTION_EVENTS, DOC_SOURCES, LIFECYCLE_EVENTS, SYNC_REQUESTS
from mailroom_sandbox.provider_doubles.microsoft.directory import derive_tenant_id

pytestmark = pytest.mark.stack

ADA = "ada@contoso.example"
ADA_GMAIL = "ada@gmail.example"


@pytest.fixture
async def site(tmp_path: Path, kafka_bootstrap: str, postgres_server_url: str) -> AsyncIterator[ManagerSite]:
    async with manager_site(tmp_path, kafka_bootstrap, postgres_server_url) as site:
        await site.providers.control.find_or_create_mailbox("outlook", ADA)
        await site.providers.control.find_or_create_mailbox("outlook", "eve@contoso.example")
        await site.providers.control.find_or_create_mailbox("gmail", ADA_GMAIL)
        yield site


async def sync_reasons(site: ManagerSite, doc_source_id: str) -> list[SyncReason]:
    events = [event for key, event, _ in await site.read_records(SYNC_REQUESTS) if key == doc_source_id]
    return [reason for event in events if isinstance(event, SyncRequest) for reason in event.reasons]


async def read_versions(site: ManagerSite, doc_source_id: str) -> list[DocSource]:
    """What the topic showed, each version once, in the order of the topic."""
    shown: dict[int, DocSource] = {}
    for key, event, headers in await site.read_records(DOC_SOURCES):
        if key == doc_source_id and isinstance(event, DocSource):
            assert headers["version"] == str(event.version)
            shown.setdefault(event.version, event)
    return list(shown.values())


async def count_calls(site: ManagerSite, method: str, part: str) -> int:
    return len(
        [
            call
            for call in await site.providers.control.list_calls()
            if call["method"] == method and part in call["path"]
        ]
    )


async def has_published(site: ManagerSite, doc_source_id: str, **wanted: object) -> bool:
    newest = (await read_versions(site, doc_source_id))[-1]
    return all(getattr(newest, name) == value for name, value in wanted.items())


async def is_unknown(site: ManagerSite, doc_source_id: str) -> bool:
    return (await site.call_api("GET", f"/doc-sources/{doc_source_id}")).status_code == 404


async def other_subscriptions(site: ManagerSite, than: str) -> list[dict[str, Any]]:
    return [one for one in await site.providers.control.list_subscriptions() if one["subscription_id"] != than]


async def open_database(site: ManagerSite) -> asyncpg.Connection:
    return await asyncpg.connect(site.settings.database_url.get_secret_value())


async def test_mailbox_is_connected_subscribed_announced_and_asked_to_sync(site: ManagerSite) -> None:
    async with site.run_instance():
        made = await site.create_doc_source("outlook", folders=["inbox"])
        done = await site.give_consent(made["authorize_url"], ADA)
        assert ADA in done.text
        shown = await site.wait_until(made["id"], subscription_expires_at=bool)
        assert (shown["state"], shown["connection_status"], shown["address"]) == ("active", "active", ADA)
        expires_at = datetime.fromisoformat(shown["subscription_expires_at"])
        assert timedelta(minutes=9_990) < expires_at - datetime.now(UTC) <= timedelta(minutes=10_000)
        (subscription,) = await site.providers.control.list_subscriptions()
        assert sorted(site.handshakes) == ["/webhooks/outlook", "/webhooks/outlook/lifecycle"]
        client_state = await site.read_client_state(subscription["subscription_id"])
    published = await read_versions(site, made["id"])
    assert [event.state.value for event in published] == ["pending", "active", "active", "active"]
    assert [len(event.client_states) for event in published] == [0, 0, 1, 1]
    assert [event.subscription_id for event in published] == [None, None, None, subscription["subscription_id"]]
    assert await sync_reasons(site, made["id"]) == [SyncReason.CONNECT, SyncReason.CONNECT]
    # The client state at the provider is the one whose hash the gateway knows.
    assert published[-1].client_states[0].sha256 == sha256(client_state.encode()).hexdigest()


async def test_secrets_are_in_no_table_record_answer_or_log(
    site: ManagerSite, capsys: pytest.CaptureFixture[str]
) -> None:
    async with site.run_instance():
        made = await site.create_doc_source("outlook")
        async with httpx.AsyncClient(trust_env=False) as browser:
            sent = await site.press_button(made["authorize_url"], browser)
        secrets = [httpx.URL(made["authorize_url"]).params["ticket"]]
        secrets += [httpx.URL(sent.headers["location"]).params["state"], *browser.cookies.values()]
        doc_source_id = await site.connect_mailbox("outlook", ADA, profile="observation")
        shown = await site.wait_until(doc_source_id, subscription_expires_at=bool)
        (subscription,) = await site.providers.control.list_subscriptions()
        secrets.append(await site.read_client_state(subscription["subscription_id"]))
    secrets += await _read_tokens(site)
    records = str(await site.read_records(DOC_SOURCES)) + str(await site.read_records(SYNC_REQUESTS))
    printed = "".join(capsys.readouterr())
    assert len(secrets) == 6
    for secret in secrets:
        for place in (await _all_rows(site), records, printed, str(shown)):
            assert secret not in place


async def _all_rows(site: ManagerSite) -> str:
    conn = await open_database(site)
    tables = await conn.fetch(
        "select format('%I.%I', table_schema, table_name) as name from information_schema.tables "
        "where table_schema in ('subscription_manager', 'mailroom_tokens')"
    )
    rows = [tuple(row) for table in tables for row in await conn.fetch(f"select * from {table['name']}")]  # noqa: S608
    await conn.close()
    assert len(rows) > len(tables)
    return str(rows)


async def _read_tokens(site: ManagerSite) -> list[str]:
    """The tokens that went over the wire, as the store opens them."""
    url = site.settings.database_url
    keys = SealingKeys.parse_keys(site.settings.token_keys.get_secret_value())
    async with open_pool(url, application_name="test", max_size=2) as pool:
        doc_source_id = await pool.fetchval('select doc_source_id from mailroom_tokens."grant"')
        grant = await TokenStore(pool, keys, url=url).read_grant(str(doc_source_id))
    assert grant is not None
    assert grant.tokens.refresh_token is not None
    return [grant.tokens.access_token, grant.tokens.refresh_token]


async def test_two_instances_create_one_subscription_and_one_backstop_each(site: ManagerSite) -> None:
    async with site.run_instance(backstop_interval_s=1.0), site.run_instance(backstop_interval_s=1.0):
        began = time.monotonic()
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
        await wait_for_answer(lambda: _count_backstops(site, doc_source_id, at_least=4), 60)
        asked = await _count_backstops(site, doc_source_id) or 0
        assert asked <= (time.monotonic() - began) / 0.95 + 5
        assert await count_calls(site, "POST", "/subscriptions") == 1
        assert len(await site.providers.control.list_subscriptions()) == 1


async def _count_backstops(site: ManagerSite, doc_source_id: str, *, at_least: int = 0) -> int | None:
    count = (await sync_reasons(site, doc_source_id)).count(SyncReason.BACKSTOP)
    return count if count >= at_least else None


async def test_instance_that_dies_in_the_middle_of_a_create_leaves_no_stray_and_no_gap(site: ManagerSite) -> None:
    asked = asyncio.Event()
    go_on = asyncio.Event()

    async def hold_handshake() -> None:
        asked.set()
        await go_on.wait()

    site.on_handshake = hold_handshake
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await asyncio.wait_for(asked.wait(), 15)
    site.on_handshake = None
    go_on.set()  # the provider gets its answer and makes a subscription that nobody hears of
    conn = await open_database(site)
    await conn.execute("update subscription_manager.doc_source set next_check_at = now()")
    await conn.close()
    async with site.run_instance():
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
        (subscription,) = await site.providers.control.list_subscriptions()
    published = await read_versions(site, doc_source_id)
    assert published[-1].subscription_id == subscription["subscription_id"]
    # Pushes of the stray may still come: its hash stays good beside the new one.
    assert len(published[-1].client_states) == 2


async def test_delete_ends_the_provider_side_and_waits_for_sync_engine_before_the_tombstone(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
        assert (await site.call_api("DELETE", f"/doc-sources/{doc_source_id}")).status_code == 202
        await site.wait_until(doc_source_id, state="deleting", subscription_expires_at=lambda value: value is None)
        assert await site.providers.control.list_subscriptions() == []
        published = await read_versions(site, doc_source_id)
        assert published[-1].state.value == "deleting"
        forgotten = _make_connection_event(
            doc_source_id, ConnectionKind.FORGOTTEN, source_version=published[-1].version
        )
        await site.publish_event(CONNECTION_EVENTS, forgotten)
        await wait_for_answer(lambda: is_unknown(site, doc_source_id))
    async with site.run_instance():  # a second life: the soft-deleted row is not published again, and not brought back
        assert (await site.call_api("GET", "/doc-sources")).json()["items"] == []
    last = [(event, headers) for key, event, headers in await site.read_records(DOC_SOURCES) if key == doc_source_id][
        -1
    ]
    assert last[0] is None
    assert int(last[1]["version"]) == published[-1].version + 1


async def test_watch_belongs_to_the_account_over_all_tenants(site: ManagerSite) -> None:
    async with site.run_instance():
        ours = await site.connect_mailbox("gmail", ADA_GMAIL)
        theirs = await site.connect_mailbox("gmail", ADA_GMAIL, tenant="other")
        for one, tenant in ((ours, "acme"), (theirs, "other")):
            await site.wait_until(one, tenant=tenant, subscription_expires_at=bool)
        assert await count_calls(site, "POST", "/watch") == 1
        await site.call_api("DELETE", f"/doc-sources/{ours}")
        await site.wait_until(ours, state="deleting", subscription_expires_at=lambda value: value is None)
        assert len(await site.providers.control.list_watches()) == 1
        assert await count_calls(site, "POST", "/stop") == await count_calls(site, "POST", "/revoke") == 0
        await site.call_api("DELETE", f"/doc-sources/{theirs}", tenant="other")
        await site.wait_until(theirs, tenant="other", subscription_expires_at=lambda value: value is None)
        assert await site.providers.control.list_watches() == []
        assert await count_calls(site, "POST", "/revoke") == 1


async def test_lifecycle_events_renew_and_recreate(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        before = await site.wait_until(doc_source_id, subscription_expires_at=bool)
        conn = await open_database(site)
        await conn.execute(
            "update subscription_manager.subscription_state set created_or_renewed_at = now() - interval '1 hour'"
        )
        await conn.close()
        (subscription,) = await site.providers.control.list_subscriptions()
        asks = _make_lifecycle_event(
            doc_source_id, subscription["subscription_id"], LifecycleKind.REAUTHORIZATION_REQUIRED
        )
        await site.publish_event(LIFECYCLE_EVENTS, asks)
        await site.publish_event(LIFECYCLE_EVENTS, asks)
        await wait_for_answer(lambda: count_calls(site, "PATCH", "/subscriptions"))
        await site.wait_until(doc_source_id, subscription_expires_at=lambda at: at >= before["subscription_expires_at"])
        assert await count_calls(site, "POST", "/reauthorize") == 0
        await site.providers.control.drop_subscription(subscription["subscription_id"])
        removed = _make_lifecycle_event(
            doc_source_id, subscription["subscription_id"], LifecycleKind.SUBSCRIPTION_REMOVED
        )
        await site.publish_event(LIFECYCLE_EVENTS, removed)
        await site.publish_event(LIFECYCLE_EVENTS, removed)
        found = await wait_for_answer(site.providers.control.list_subscriptions)
        assert found[0]["subscription_id"] != subscription["subscription_id"]
        await wait_for_answer(lambda: has_published(site, doc_source_id, subscription_id=found[0]["subscription_id"]))
        assert await count_calls(site, "PATCH", "/subscriptions") == 1  # both wishes were for the same renewal
    assert (await sync_reasons(site, doc_source_id)).count(SyncReason.LIFECYCLE) == 2
    assert len(found) == 1


async def test_report_of_sync_engine_becomes_the_status_and_a_reconnect_ends_it(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.publish_event(CONNECTION_EVENTS, _make_connection_event(doc_source_id, ConnectionKind.SYNCED))
        await site.wait_until(doc_source_id, last_successful_sync_at=bool)
        await site.publish_event(CONNECTION_EVENTS, _make_connection_event(doc_source_id, ConnectionKind.TOKEN_REFUSED))
        await site.wait_until(
            doc_source_id, connection_status="token_refresh_failed", connection_reason="token_refused"
        )
        link = (await site.call_api("POST", f"/doc-sources/{doc_source_id}/authorize")).json()["authorize_url"]
        refused = await site.give_consent(link, "eve@contoso.example")
        assert refused.status_code == 400
        assert "another mailbox" in refused.text
        link = (await site.call_api("POST", f"/doc-sources/{doc_source_id}/authorize")).json()["authorize_url"]
        assert (await site.give_consent(link, ADA)).status_code == 200
        await site.wait_until(doc_source_id, connection_status="active")
        # A refusal of the first grant that comes late says nothing of the second.
        await site.publish_event(CONNECTION_EVENTS, _make_connection_event(doc_source_id, ConnectionKind.TOKEN_REFUSED))
        synced = _make_connection_event(
            doc_source_id, ConnectionKind.SYNCED, generation=2, at=datetime.now(UTC) + timedelta(hours=1)
        )
        await site.publish_event(CONNECTION_EVENTS, synced)
        at = synced.occurred_at.isoformat(timespec="milliseconds")[:19]
        await site.wait_until(doc_source_id, last_successful_sync_at=lambda value: value.startswith(at))
        assert (await site.get_doc_source(doc_source_id))["connection_status"] == "active"
    assert (await read_versions(site, doc_source_id))[-1].grant_generation == 2


async def test_application_access_needs_no_consent_and_stays_within_its_policy(site: ManagerSite) -> None:
    body = {
        "provider": "outlook",
        "profile": "contract_note",
        "access": "application",
        "address": ADA,
        "provider_tenant": derive_tenant_id("contoso.example"),
    }
    async with site.run_instance(
        tenants={"acme": TenantReach(provider_tenants=frozenset({derive_tenant_id("contoso.example")}))}
    ):
        assert (await site.call_api("POST", "/doc-sources", tenant="other", json=body)).status_code == 403
        made = await site.call_api("POST", "/doc-sources", json=body)
        assert made.status_code == 201
        shown = await site.wait_until(made.json()["id"], subscription_expires_at=bool)
        assert (shown["state"], shown["connection_status"], shown["address"]) == ("active", "active", ADA)
        assert len(await site.providers.control.list_subscriptions()) == 1
        await site.call_api("DELETE", f"/doc-sources/{shown['id']}")
        await site.wait_until(shown["id"], subscription_expires_at=lambda value: value is None)
        assert await site.providers.control.list_subscriptions() == []


async def test_declined_consent_is_a_readable_page_and_leaves_it_pending(site: ManagerSite) -> None:
    async with site.run_instance():
        made = await site.create_doc_source("outlook")
        refused = await site.give_consent(made["authorize_url"], ADA, accept=False)
        assert refused.status_code == 400
        assert "did not give access" in refused.text
        assert (await site.get_doc_source(made["id"]))["state"] == "pending"


async def test_other_address_for_webhooks_recreates_the_subscription_there(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
        (first,) = await site.providers.control.list_subscriptions()
    moved = site.public_url.replace("127.0.0.1", "localhost")
    async with site.run_instance(webhook_url=moved):
        (second,) = await wait_for_answer(lambda: other_subscriptions(site, first["subscription_id"]))
        await wait_for_answer(lambda: has_published(site, doc_source_id, subscription_id=second["subscription_id"]))
    assert second["notification_url"] == f"{moved}/webhooks/outlook"


async def test_version_that_the_topic_lost_is_published_again_at_the_next_start(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
    conn = await open_database(site)
    version = await conn.fetchval(
        "update subscription_manager.doc_source set published_version = published_version + 1 "
        "returning published_version"
    )
    await conn.close()
    assert (await read_versions(site, doc_source_id))[-1].version == version - 1
    async with site.run_instance():
        await wait_for_answer(lambda: has_published(site, doc_source_id, version=version))


async def test_older_version_that_is_written_last_is_followed_by_the_newest_one(site: ManagerSite) -> None:
    async with site.run_instance():
        doc_source_id = await site.connect_mailbox("outlook", ADA)
        await site.wait_until(doc_source_id, subscription_expires_at=bool)
        published = await read_versions(site, doc_source_id)
        async with EventProducer(site.settings, Codec(), client_id="frozen-relay") as producer:
            headers = {VERSION: str(published[-2].version)}
            await producer.send_event(DOC_SOURCES, doc_source_id, published[-2], headers=headers)

        async def is_repaired() -> bool:
            last = [event for key, event, _ in await site.read_records(DOC_SOURCES) if key == doc_source_id][-1]
            return isinstance(last, DocSource) and last.version == published[-1].version

        await wait_for_answer(is_repaired)


def _make_connection_event(
    doc_source_id: str,
    kind: ConnectionKind,
    *,
    generation: int = 1,
    at: datetime | None = None,
    source_version: int = 0,
) -> ConnectionEvent:
    return ConnectionEvent(
        event_id=f"{kind}-{generation}",
        occurred_at=at or datetime.now(UTC),
        tenant_id="acme",
        doc_source_id=doc_source_id,
        kind=kind,
        grant_generation=generation,
        source_version=source_version,
    )


def _make_lifecycle_event(doc_source_id: str, subscription_id: str, kind: LifecycleKind) -> LifecycleEvent:
    return LifecycleEvent(
        event_id=f"{kind}-{subscription_id}",
        occurred_at=datetime.now(UTC),
        tenant_id="acme",
        doc_source_id=doc_source_id,
        provider="outlook",
        subscription_id=subscription_id,
        kind=kind,
        raw_kind=kind.value,
    )
