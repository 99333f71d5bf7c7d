"""The whole site with the sandbox's providers: from a mail to documents, through whatever a mailbox goes through.

One site serves the module. It is secured: Kafka lets each process do what `topic_access` lists, and no more. Each test
has mailboxes of its own, so that they can be read in any order; the last one looks at everything the site has written
for what must not be there.
"""

import asyncio
import base64
import hashlib
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from aiokafka import TopicPartition
from aiokafka.admin import NewTopic
from aiokafka.errors import KafkaError, for_code
from kafka_rights import Rights, find_rights
from pydantic import SecretStr
from reading_quality.drawn_receipts import draw_receipt
from reading_quality.page_drawing import draw_text
from typer.testing import CliRunner
from whole_site import PROVIDERS, Site, eventually, mail, pdf, whole_site

from mailroom_cli.__main__ import app as mailroom
from mailroom_common.events import IngestionResult, ResultStatus
from mailroom_common.kafka.client import KafkaCluster, create_admin_client, create_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.security import UNSECURED
from mailroom_common.postgres import open_pool
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore
from mailroom_common.topic_access import COMPONENTS
from mailroom_common.topics import INGESTION_RESULTS, list_deployed_topics
from mailroom_sandbox.site.demo.browser import Browser
from mailroom_sandbox.site.stack.home import read_json

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    # OCR starts with the first picture: the tests without any pay nothing for it.
    environment = {"MAILROOM_OCR_PROCESSES": "1"}
    async with whole_site(tmp_path_factory.mktemp("whole") / "home", "--secure", environment=environment) as running:
        yield running


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_content_becomes_one_document_however_often_it_comes_and_is_announced(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    first, second = pdf("first"), pdf("second")
    await site.control.set_fault("notifications", mailbox=address, mode="duplicated", copies=5)
    await site.control.deliver_mail(mail(first), address, times=2)
    await site.control.deliver_mail(mail(first, first), address)
    await site.control.deliver_mail(mail(second, first), address)
    await site.settled(source, documents=2, messages=4)
    await site.control.resend_pushes(10, address)
    await site.control.deliver_mail(mail(pdf("third")), address)
    await site.settled(source, documents=3, messages=5)
    hashes = {document["content_sha256"] for document in await site.documents(source)}
    assert hashes == {hashlib.sha256(content).hexdigest() for content in (first, second, pdf("third"))}
    parts = [part for message in await site.messages(source) for part in message["parts"]]
    assert Counter(part["stored"] for part in parts) == {True: 7}
    assert len({part["attachment_id"] for part in parts}) == 7


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_mail_from_before_the_connection_is_passed_over_and_mail_right_after_it_is_not(
    site: Site, provider: str
) -> None:
    address = f"{uuid.uuid4().hex[:12]}@{provider}.test"
    await site.control.find_or_create_mailbox(provider, address)
    old = datetime.now(UTC) - timedelta(days=3)
    await site.control.deliver_mail(mail(pdf("old"), subject="Old invoice"), address, received_at=old)
    _, source = await site.connect(provider, address)
    await site.control.deliver_mail(mail(pdf("new"), subject="New invoice"), address)
    await site.settled(source, documents=1, messages=1)
    (document,) = await site.documents(source)
    assert document["source_metadata"]["subject"] == "New invoice"
    assert document["source_metadata"]["attachment_filename"] == "invoice-0.pdf"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_paused_mailbox_rests_and_catches_up_when_it_is_resumed(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.deliver_mail(mail(pdf("before")), address)
    await site.settled(source, documents=1, messages=1)
    await site.api.post_json(f"/doc-sources/{source}/pause")
    await site.control.deliver_mail(mail(pdf("meanwhile")), address)
    await asyncio.sleep(3)  # nothing may happen: there is no event to wait for
    assert len(await site.documents(source)) == 1
    assert await site.connect(provider, address) == (address, source)  # as `make run` does on a state that it finds
    await site.settled(source, documents=2, messages=2)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_revoked_grant_is_told_and_a_new_consent_catches_up(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.deliver_mail(mail(pdf("before")), address)
    await site.settled(source, documents=1, messages=1)
    await site.control.revoke_grants(address)
    await site.control.expire_tokens(address)
    await site.control.deliver_mail(mail(pdf("meanwhile")), address)
    await site.api.post_json(f"/doc-sources/{source}/sync")

    async def is_told() -> bool:
        described = await site.api.get_json(f"/doc-sources/{source}")
        return bool(described["connection_status"] == "token_refresh_failed")

    await eventually(is_told)
    assert len(await site.documents(source)) == 1
    link = (await site.api.post_json(f"/doc-sources/{source}/authorize"))["authorize_url"]
    await reconsent(site, link, address)
    await site.settled(source, documents=2, messages=2)
    assert (await site.api.get_json(f"/doc-sources/{source}"))["connection_status"] == "active"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_expired_token_is_refreshed_and_nobody_notices(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    for number in range(2):
        await site.control.expire_tokens(address)
        await site.control.deliver_mail(mail(pdf(f"number {number}")), address)
        await site.settled(source, documents=number + 1, messages=number + 1)
    assert (await site.api.get_json(f"/doc-sources/{source}"))["connection_status"] == "active"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_mail_that_nobody_announced_comes_with_the_next_sync(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.set_fault("notifications", mailbox=address, mode="off")
    await site.control.deliver_mail(mail(pdf("unannounced")), address)
    await site.api.post_json(f"/doc-sources/{source}/sync")
    await site.settled(source, documents=1, messages=1)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_refused_cursor_begins_anew_and_takes_nothing_twice(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.deliver_mail(mail(pdf("before")), address)
    await site.settled(source, documents=1, messages=1)
    await site.control.refuse_cursors(address)
    await site.control.set_fault("notifications", mailbox=address, mode="off")
    await site.control.deliver_mail(mail(pdf("after")), address)
    await site.api.post_json(f"/doc-sources/{source}/sync")
    await site.settled(source, documents=2, messages=2)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_provider_that_asks_for_patience_is_given_it_and_no_mail_is_lost(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.set_fault("unavailable", mailbox=address, status=429, retry_after="1.5", times=3)
    await site.control.deliver_mail(mail(pdf("throttled")), address)
    await site.settled(source, documents=1, messages=1)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_deleted_connection_ends_at_the_provider_and_its_documents_stay(site: Site, provider: str) -> None:
    address, source = await site.connect(provider)
    await site.control.deliver_mail(mail(pdf("kept")), address)
    await site.settled(source, documents=1, messages=1)
    assert (await site.http.delete(f"/doc-sources/{source}")).is_success

    async def is_over() -> bool:
        watches = {watch["address"] for watch in await site.control.list_watches()}
        gone = not [one for one in await site.api.list_items("/doc-sources") if one["id"] == source]
        return gone and address not in watches and not await site.messages(source)

    await eventually(is_over)
    assert len(await site.documents(source)) == 1


async def test_a_photographed_receipt_is_read_and_digital_mail_does_not_wait_for_it(site: Site) -> None:
    address, source = await site.connect("outlook")
    receipt = draw_receipt(2)
    await site.control.deliver_mail(mail(photographs=[receipt.picture]), address)

    async def is_ocr_at_work() -> bool:
        return bool(list_ocr_processes(site))

    await eventually(is_ocr_at_work)
    held = list_ocr_processes(site)
    for process in held:
        process.suspend()
    try:
        await site.control.deliver_mail(mail(pdf("digital")), address)

        async def is_one_read() -> bool:
            return bool(await site.documents(source))

        await eventually(is_one_read)
        assert [one["content_type"] for one in await site.documents(source)] == ["application/pdf"]
    finally:
        for process in held:
            process.resume()
    # OCR gives way to whatever else the machine has to do.
    await site.settled(source, documents=2, messages=2, within_s=150)
    (picture,) = [one for one in await site.documents(source) if one["content_type"] == "image/jpeg"]
    assert (picture["status"], picture["extraction"]["total_gross"]) == ("completed", receipt.truth["total_gross"])


def list_ocr_processes(site: Site) -> list[psutil.Process]:
    """The fork server that has the models loaded, and what it has forked."""
    found = []
    for process in site.running.list_processes():
        with suppress(psutil.NoSuchProcess):
            found += [process] if any("ingestion.readers.ocr" in part for part in process.cmdline()) else []
    return found


NOTE = """
Wertpapierabrechnung
Kauf am 15.01.2026 um 08:13:35
ALLIANZ SE NA O.N. 840400 DE0008404005
ST {quantity}
Preis pro Anteil 20,50 EUR
Kurswert {amount} EUR
zulasten Konto-Nr. 12345678 {amount} EUR
"""


@pytest.mark.parametrize(
    ("provider", "quantity", "order_first"),
    [("outlook", 10, True), ("gmail", 12, False)],
    ids=["api-first", "csv-last"],
)
async def test_a_note_that_comes_by_mail_executes_a_pending_order_whichever_came_first(
    site: Site, tmp_path: Path, provider: str, quantity: int, order_first: bool
) -> None:
    order = {"external_id": f"E-{quantity}", "direction": "buy", "quantity": f"{quantity}", "isin": "DE0008404005"}
    order["ordered_on"] = "2026-01-15"
    if order_first:
        answer = await site.http.post("/pending-orders", json=order)
        assert answer.status_code == 200, answer.text
    address, source = await site.connect(provider, profile="contract_note")
    text = NOTE.format(quantity=quantity, amount=f"{quantity * 20.5:.2f}".replace(".", ","))
    await site.control.deliver_mail(mail(draw_text(text)), address)
    await site.settled(source, documents=1, messages=1)
    if not order_first:
        file = tmp_path / "orders.csv"
        file.write_text(f"{','.join(order)}\n{','.join(order.values())}\n")
        await run_command(site, "orders", "import", str(file))

    async def list_trades() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(
            await run_command(site, "trades", "list", "--source", address, "--json")
        )
        return listed

    async def is_linked() -> bool:
        return [trade["order_match"] for trade in await list_trades()] == ["linked"]

    await eventually(is_linked)
    (trade,) = await list_trades()
    shown = json.loads(await run_command(site, "orders", "show", trade["order_id"]))
    assert (shown["external_id"], shown["state"]) == (order["external_id"], "filled")
    assert shown["trades"] == [trade["id"]]
    (result,) = await read_results(site.kafka_access(), source)
    (told,) = map(json.loads, result.trades)
    assert result.status is ResultStatus.COMPLETED
    assert (told["isin"], told["quantity"]) == ("DE0008404005", str(quantity))


async def test_kafka_refuses_each_process_what_is_not_listed(site: Site) -> None:
    topics = [topic.name for topic in list_deployed_topics("", replication=1)]
    groups = [group for component in COMPONENTS for group in component.groups]
    for component in COMPONENTS:
        listed = Rights(frozenset(component.reads), frozenset(component.writes), frozenset(component.groups))
        assert await find_rights(site.kafka_access(component.default_user), topics, groups) == listed, component.name


async def test_kafka_lets_nobody_in_who_does_not_prove_who_they_are(site: Site) -> None:
    given = site.kafka_access(COMPONENTS[0].default_user)
    wrong = SecretStr("not the password")
    for security in (replace(given.kafka_security, password=wrong), replace(given.kafka_security, ca=None), UNSECURED):
        admin = create_admin_client(replace(given, kafka_security=security), request_timeout_ms=2_000)
        with pytest.raises(KafkaError):
            await admin.start()
        await admin.close()


async def test_no_process_creates_topics(site: Site) -> None:
    for component in COMPONENTS:
        admin = create_admin_client(site.kafka_access(component.default_user))
        await admin.start()
        answer = await admin.create_topics([NewTopic("one-more", 1, 1)], validate_only=True)
        await admin.close()
        assert [for_code(code).__name__ for _, code, *_ in answer.topic_errors] == ["TopicAuthorizationFailedError"]


async def reconsent(site: Site, link: str, address: str) -> None:
    async with Browser(site.trusted) as browser:
        providers = await browser.submit_form(await browser.open_page(link))
        await browser.submit_form(providers, account=address, decision="accept")


async def test_replaying_everything_twice_changes_nothing(site: Site) -> None:
    sources = []
    for provider in PROVIDERS:
        address, source = await site.connect(provider)
        await eventually(partial(has_subscription, site, source))  # so that the mail is announced, not found
        await site.control.deliver_mail(mail(pdf("one"), pdf("two")), address)
        await site.control.deliver_mail(mail(pdf("one")), address)
        await site.settled(source, documents=2, messages=2)
        sources.append(source)
    before = [await describe_everything(site, source) for source in sources]
    for number in (1, 2):
        await replay_everything(site, sources, f"twice-{number}")
    assert [await describe_everything(site, source) for source in sources] == before


async def has_subscription(site: Site, source: str) -> bool:
    return (await site.api.get_json(f"/doc-sources/{source}"))["subscription_expires_at"] is not None


async def describe_everything(site: Site, source: str) -> dict[str, object]:
    """Documents, messages, blobs and the ids of results: all that a user or a program downstream could see change."""
    documents = await site.documents(source)
    found = [await site.api.get_json(f"/documents/{document['id']}") for document in documents]
    events = await read_results(site.kafka_access(), source)
    async with open_pool(site.running.endpoints.database, application_name="e2e", max_size=2) as pool:
        numbers = await pool.fetch(
            "select document_id, result_number from ingestion.document where doc_source_id = $1", source
        )
        events_shown = await pool.fetchval(
            "select count(*) from ingestion.document_event join ingestion.document using (document_id) "
            "where doc_source_id = $1",
            source,
        )
    return {
        "documents": sorted(found, key=lambda document: str(document["id"])),
        "messages": await site.messages(source),
        "result_ids": {event.event_id for event in events},
        "result_numbers": {row["document_id"]: row["result_number"] for row in numbers},
        "document_events": events_shown,
    }


async def read_results(kafka: KafkaCluster, source: str) -> list[IngestionResult]:
    codec = Codec()
    consumer = create_consumer(kafka, auto_offset_reset="earliest")
    await consumer.start()
    try:
        every = [TopicPartition(INGESTION_RESULTS.name, number) for number in range(INGESTION_RESULTS.partitions)]
        ends = {one: end for one, end in (await consumer.end_offsets(every)).items() if end > 0}
        consumer.assign(list(ends))
        found: list[IngestionResult] = []
        while any([await consumer.position(one) < end for one, end in ends.items()]):
            for records in (await consumer.getmany(timeout_ms=500)).values():
                events = [codec.decode(INGESTION_RESULTS, record.value) for record in records]
                found += [
                    event for event in events if isinstance(event, IngestionResult) and event.doc_source_id == source
                ]
        return found
    finally:
        await consumer.stop()


async def replay_everything(site: Site, sources: list[str], replay_id: str) -> None:
    """Each kind of replay, by the command, one after the other; returns when what they asked for is done."""
    chosen = [word for source in sources for word in ("--doc-source", source)]
    await run_command(site, "replay", "attachments", "--all", *chosen, "--replay-id", replay_id)
    await wait_until_read(site, sources, replay_id)
    began = datetime.now(UTC)
    await run_command(site, "replay", "notifications", "--all", *chosen, "--replay-id", f"{replay_id}-sync")
    for source in sources:
        await eventually(partial(was_synced_in_full, site, source, began), within_s=120)
        start = (await site.api.get_json(f"/doc-sources/{source}"))["start_at"]
        await run_command(site, "replay", "mailbox", source, "--from", start, "--wait")
        again = f"{replay_id}-documents"
        await run_command(site, "replay", "documents", "--all", "--doc-source", source, "--replay-id", again)
        await wait_until_read(site, [source], again)


async def run_command(site: Site, *words: str) -> str:
    """What it prints. In a thread, since a command has an event loop of its own."""
    environment = {
        **site.admin_environment(),
        "MAILROOM_API_URL": site.running.endpoints.public,
        "MAILROOM_API_KEY": str(site.running.endpoints.api_key),
        "MAILROOM_CA_BUNDLE": str(site.running.home.tls / "ca.pem"),
    }
    result = await asyncio.to_thread(lambda: CliRunner().invoke(mailroom, list(words), env=environment))
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


async def wait_until_read(site: Site, sources: list[str], replay_id: str) -> None:
    """Nobody outside is told of a reading that changes nothing, so the rows are looked at."""
    unfinished = (
        "select count(*) from ingestion.document where doc_source_id = any($1) "
        "and (replay_id is distinct from $2 or next_attempt_at is not null)"
    )
    async with open_pool(site.running.endpoints.database, application_name="e2e", max_size=2) as pool:

        async def is_read() -> bool:
            return bool(await pool.fetchval(unfinished, sources, replay_id) == 0)

        await eventually(is_read)


async def was_synced_in_full(site: Site, source: str, since: datetime) -> bool:
    """Not by the reason `replay`: a run that fails is repeated for another one."""
    runs = await site.api.list_items("/sync-runs", doc_source_id=source)
    full = [run for run in runs if (run["kind"], run["outcome"]) == ("all_cursors", "done")]
    return any(datetime.fromisoformat(run["started_at"]) >= since for run in full)


async def test_no_token_key_or_secret_is_in_a_log_a_record_or_an_answer(site: Site) -> None:
    """Runs last: what every other test of this module left behind is looked through, and one connection more."""
    for provider in PROVIDERS:
        address, source = await site.connect(provider)
        await site.control.deliver_mail(mail(pdf("canary")), address)
        await site.settled(source, documents=1, messages=1)
    secrets = await known_secrets(site)
    assert len(secrets) > 8
    assert await leaks_in_logs(site.running.home.logs, secrets) == []
    assert await leaks_in_records(site.kafka_access(), secrets) == []
    answers = [await site.api.list_items(path) for path in ("/doc-sources", "/messages", "/documents", "/sync-runs")]
    assert not [secret for secret in secrets if secret in repr(answers).encode()]


async def known_secrets(site: Site) -> list[bytes]:
    """The tokens that are stored now, what seals them, and what the site was given."""
    kept: dict[str, str] = read_json(site.running.home.secrets, {})
    key = base64.b64encode(hashlib.sha256(kept["token_key"].encode()).digest()).decode()
    found = {*kept.values(), key, "sandbox-microsoft-secret", "sandbox-google-secret"}
    database = site.running.endpoints.database
    async with open_pool(database, application_name="e2e", max_size=2) as pool:
        store = TokenStore(pool, SealingKeys.parse_keys(f"sandbox:{key}"), url=database)
        rows = await pool.fetch('select doc_source_id from mailroom_tokens."grant" where sealed_tokens is not null')
        for row in rows:
            grant = await store.read_grant(str(row["doc_source_id"]))
            assert grant is not None
            found |= {grant.tokens.access_token, str(grant.tokens.refresh_token)}
    return [secret.encode() for secret in found]


async def leaks_in_logs(folder: Path, secrets: list[bytes]) -> list[str]:
    texts = await asyncio.to_thread(lambda: {path.name: path.read_bytes() for path in folder.iterdir()})
    assert any(texts.values())
    return [name for name, text in texts.items() for secret in secrets if secret in text]


async def leaks_in_records(kafka: KafkaCluster, secrets: list[bytes]) -> list[str]:
    """Of every topic, dead letters and changelog too, each record that was ever written."""
    consumer = create_consumer(kafka, auto_offset_reset="earliest")
    await consumer.start()
    try:
        known = await consumer.topics()
        existing = [topic for topic in list_deployed_topics("", replication=1) if topic.name in known]
        every = [TopicPartition(topic.name, number) for topic in existing for number in range(topic.partitions)]
        ends = {one: end for one, end in (await consumer.end_offsets(every)).items() if end > 0}
        consumer.assign(list(ends))
        found, read = [], 0
        while any([await consumer.position(one) < end for one, end in ends.items()]):
            for one, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    read += 1
                    texts = [record.key, record.value, *(value for _, value in record.headers)]
                    found += [one.topic for text in texts if text for secret in secrets if secret in text]
        assert read > 0
        return found
    finally:
        await consumer.stop()
