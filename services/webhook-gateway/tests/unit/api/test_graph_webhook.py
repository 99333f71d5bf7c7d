"""`POST /webhooks/outlook` and its kin: each line of the design, by status and by what is written."""

import asyncio
import hmac
import time
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from mailroom_common.events import DocSourceState, LifecycleEvent, LifecycleKind, Notification
from webhook_gateway.domain import client_states

PATHS = [
    "/webhooks/outlook",
    "/webhooks/outlook/lifecycle",
    "/webhooks/graph",
    "/api/graph/notifications",
    "/api/graph/lifecycle",
]

# Any below: the fixtures of conftest.py (importmode=importlib keeps its classes out of reach of an import).


async def post(gateway: Any, *items: Any, path: str = "/webhooks/outlook", **options: Any) -> Any:
    return await gateway.http.post(path, json={"value": list(items)}, **options)


# The handshake


@pytest.mark.parametrize("path", PATHS)
async def test_the_handshake_is_answered_with_the_decoded_token_in_plain_text(gateway: Any, path: str) -> None:
    answer = await gateway.http.post(f"{path}?validationToken=Validation%3A+Request-Id%3A%20a-b%2Bc")

    assert answer.status_code == 200
    assert answer.text == "Validation: Request-Id: a-b+c"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_markup_in_the_token_comes_back_escaped(gateway: Any) -> None:
    answer = await gateway.http.post("/webhooks/outlook", params={"validationToken": "<script>alert(1)</script>"})

    assert answer.text == "&lt;script&gt;alert(1)&lt;/script&gt;"


async def test_ampersand_and_quotes_in_the_validation_token_come_back_unchanged(gateway: Any) -> None:
    """Graph compares the answer with what it sent: an escaped `&` would fail the creation of the subscription."""
    token = """Validation: a&b "c" 'd' &lt;"""

    answer = await gateway.http.post("/webhooks/outlook", params={"validationToken": token})

    assert answer.text == token


async def test_the_handshake_needs_no_directory(gateway: Any) -> None:
    gateway.not_ready = "still loading"

    assert (await gateway.http.post("/webhooks/outlook?validationToken=x")).status_code == 200


# What is written


@pytest.mark.parametrize("path", PATHS)
async def test_a_genuine_change_is_written_and_answered_202(gateway: Any, make: Any, path: str) -> None:
    answer = await post(gateway, make.change(), path=path)

    assert (answer.status_code, answer.content) == (202, b"")
    [(topic, key, event)] = gateway.kafka.written
    assert (topic, key) == ("notifications", "ds-1")
    assert isinstance(event, Notification)
    assert (event.tenant_id, event.doc_source_id, event.provider) == ("acme", "ds-1", "outlook")
    assert (event.subscription_id, event.change_type, event.message_id) == ("sub-1", "created", "AAMk")
    assert event.occurred_at == make.now
    assert event.provider_event == 'sub-1|AAMk|created|W/"1"'


async def test_the_same_push_again_has_the_same_event_id_and_another_change_has_another(
    gateway: Any, make: Any
) -> None:
    changed = make.change(resourceData={"id": "AAMk", "@odata.etag": 'W/"2"'})
    for item in (make.change(), make.change(), changed):
        await post(gateway, item)

    first, repeat, other = [event.event_id for event in gateway.kafka.events("notifications")]
    assert first == repeat != other


@pytest.mark.parametrize(
    "resource",
    [
        "Users/u/Messages/{id}",
        "users/u@t/messages/{id}",
        "/users/u/mailFolders/inbox/messages/{id}",
        "Users('u')/Messages('{id}')",
    ],
)
async def test_without_an_id_in_resource_data_the_message_id_is_the_end_of_resource(
    gateway: Any, make: Any, resource: str
) -> None:
    for resource_data in (None, {}, {"id": None}, {"id": ""}):
        for message_id in ("AAMk-1=", "AAMk-2="):
            item = make.change(resource=resource.format(id=message_id), resourceData=resource_data)
            assert (await post(gateway, item)).status_code == 202

    events = gateway.kafka.events("notifications")
    assert [event.message_id for event in events] == ["AAMk-1=", "AAMk-2="] * 4
    assert len({event.event_id for event in events}) == 2


@pytest.mark.parametrize("resource", [None, 5, "", "NA", "Users/u/Messages", "Users/u/Messages/", "Users/u/Events/E1"])
async def test_a_resource_that_names_no_message_gives_no_message_id(gateway: Any, make: Any, resource: Any) -> None:
    assert (await post(gateway, make.change(resource=resource, resourceData=None))).status_code == 202
    assert [event.message_id for event in gateway.kafka.events("notifications")] == [None]


@pytest.mark.parametrize(
    ("raw_kind", "kind"),
    [
        ("reauthorizationRequired", LifecycleKind.REAUTHORIZATION_REQUIRED),
        ("subscriptionRemoved", LifecycleKind.SUBSCRIPTION_REMOVED),
        ("missed", LifecycleKind.MISSED),
        ("somethingNew", LifecycleKind.OTHER),
    ],
)
async def test_lifecycle_items_go_to_their_topic_with_their_kind(
    gateway: Any, make: Any, raw_kind: str, kind: LifecycleKind
) -> None:
    answer = await post(gateway, make.lifecycle_item(raw_kind), path="/webhooks/outlook/lifecycle")

    assert answer.status_code == 202
    [(topic, key, event)] = gateway.kafka.written
    assert (topic, key) == ("lifecycle-events", "ds-1")
    assert isinstance(event, LifecycleEvent)
    assert (event.kind, event.raw_kind, event.subscription_id) == (kind, raw_kind, "sub-1")


async def test_changes_and_lifecycle_items_may_be_mixed_in_one_post(gateway: Any, make: Any) -> None:
    gateway.sources.put(make.source("ds-2"))

    answer = await post(
        gateway, make.change(), make.lifecycle_item("missed"), make.change("ds-2:secret"), path="/webhooks/outlook"
    )

    assert answer.status_code == 202
    assert [(topic, key) for topic, key, _ in gateway.kafka.written] == [
        ("notifications", "ds-1"),
        ("lifecycle-events", "ds-1"),
        ("notifications", "ds-2"),
    ]


async def test_all_records_of_a_post_are_written_at_once(gateway: Any, make: Any) -> None:
    await post(gateway, *(make.change() for _ in range(20)))

    assert len(gateway.kafka.written) == 20
    assert len(gateway.kafka.time_left_s) == 1


async def test_an_empty_list_is_accepted(gateway: Any) -> None:
    assert (await post(gateway)).status_code == 202


# Proof


@pytest.mark.parametrize("client_state", ["ds-1:wrong", "ds-1", "ds-1:", ":secret", "", None, 5, ["ds-1:secret"]])
async def test_a_client_state_that_does_not_match_is_401_and_not_written(
    gateway: Any, make: Any, client_state: Any
) -> None:
    answer = await post(gateway, make.change(client_state))

    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert gateway.kafka.written == []


async def test_genuine_items_of_a_mixed_post_are_written_all_the_same(gateway: Any, make: Any) -> None:
    answer = await post(gateway, make.change(), make.change("ds-1:wrong"), make.lifecycle_item("missed"))

    assert answer.status_code == 401
    assert [topic for topic, _, _ in gateway.kafka.written] == ["notifications", "lifecycle-events"]


async def test_the_client_state_of_one_source_opens_no_other(gateway: Any, make: Any) -> None:
    gateway.sources.put(make.source("ds-2"))

    assert (await post(gateway, make.change("ds-2:secret"), make.change("ds-1:secret"))).status_code == 202
    swapped = make.source("ds-3", client_states=[make.hash("ds-1:secret")])
    gateway.sources.put(swapped)
    assert (await post(gateway, make.change("ds-3:secret"))).status_code == 401


async def test_digests_are_compared_in_constant_time_for_every_item_and_every_hash(
    gateway: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []

    def counting(shown: str, expected: str) -> bool:
        compared.append((shown, expected))
        return hmac.compare_digest(shown, expected)

    monkeypatch.setattr(client_states, "compare_digest", counting)
    hashes = [make.hash("ds-1:secret"), make.hash("ds-1:older")]
    gateway.sources.put(make.source(client_states=hashes))
    gateway.sources.can_catch_up = True

    await post(gateway, make.change(), make.change("ds-1:wrong"), make.change("nobody:at-all"), make.change(None))

    # Once for the genuine item's two hashes; the three others are judged before and after the catch-up.
    assert len(compared) == 2 + 2 * (2 + 1 + 1)
    assert all(len(shown) == len(expected) == 64 for shown, expected in compared)
    assert not any("secret" in text for pair in compared for text in pair)


async def test_the_hash_of_a_replaced_subscription_counts_until_that_has_expired(gateway: Any, make: Any) -> None:
    gateway.sources.put(
        make.source(
            client_states=[
                make.hash("ds-1:new"),
                make.hash("ds-1:replaced", make.now + timedelta(seconds=1)),
                make.hash("ds-1:expired", make.now),
            ]
        )
    )

    assert (await post(gateway, make.change("ds-1:new"))).status_code == 202
    assert (await post(gateway, make.change("ds-1:replaced"))).status_code == 202
    assert (await post(gateway, make.change("ds-1:expired"))).status_code == 401


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_changes_of_a_source_that_is_paused_or_being_deleted_are_202_and_dropped(
    gateway: Any, make: Any, state: DocSourceState
) -> None:
    gateway.sources.put(make.source(state=state))

    answer = await post(gateway, make.change(), make.change(changeType="deleted"))

    assert answer.status_code == 202
    assert gateway.kafka.written == []


@pytest.mark.parametrize("kind", ["subscriptionRemoved", "reauthorizationRequired", "missed"])
async def test_lifecycle_events_of_a_paused_source_are_written_and_its_changes_are_not(
    gateway: Any, make: Any, kind: str
) -> None:
    gateway.sources.put(make.source(state=DocSourceState.PAUSED))

    answer = await post(gateway, make.change(), make.lifecycle_item(kind))

    assert answer.status_code == 202
    assert [(topic, event.raw_kind) for topic, _, event in gateway.kafka.written] == [("lifecycle-events", kind)]


async def test_lifecycle_event_of_a_paused_source_that_is_newer_than_the_directory_is_written_too(
    gateway: Any, make: Any
) -> None:
    gateway.sources.to_come.append(make.source("ds-new", state=DocSourceState.PAUSED))
    of_it = {"client_state": "ds-new:secret"}

    answer = await post(gateway, make.change(**of_it), make.lifecycle_item("subscriptionRemoved", **of_it))

    assert answer.status_code == 202
    assert [topic for topic, _, _ in gateway.kafka.written] == ["lifecycle-events"]


async def test_lifecycle_events_of_a_source_that_is_being_deleted_are_202_and_dropped(gateway: Any, make: Any) -> None:
    gateway.sources.put(make.source(state=DocSourceState.DELETING))

    assert (await post(gateway, make.lifecycle_item("subscriptionRemoved"))).status_code == 202
    assert gateway.kafka.written == []


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_resting_source_does_not_excuse_a_forgery(gateway: Any, make: Any, state: DocSourceState) -> None:
    gateway.sources.put(make.source(state=state))

    assert (await post(gateway, make.change("ds-1:wrong"))).status_code == 401
    assert (await post(gateway, make.lifecycle_item("subscriptionRemoved", "ds-1:wrong"))).status_code == 401
    assert gateway.kafka.written == []


# The directory catches up


async def test_an_unknown_source_is_looked_for_at_the_end_of_the_topic(gateway: Any, make: Any) -> None:
    gateway.sources.to_come.append(make.source("ds-new"))

    answer = await post(gateway, make.change("ds-new:secret"))

    assert answer.status_code == 202
    assert [key for _, key, _ in gateway.kafka.written] == ["ds-new"]


async def test_a_hash_newer_than_the_directory_is_looked_for_too(gateway: Any, make: Any) -> None:
    gateway.sources.to_come.append(make.source(version=2, client_states=[make.hash("ds-1:renewed")]))

    assert (await post(gateway, make.change("ds-1:renewed"))).status_code == 202


async def test_what_is_still_unexplained_after_the_catch_up_is_401(gateway: Any, make: Any) -> None:
    answer = await post(gateway, make.change("nobody:secret"))

    assert answer.status_code == 401
    assert gateway.sources.catch_ups == 1


async def test_many_unexplained_items_of_a_post_ask_once(gateway: Any, make: Any) -> None:
    await post(gateway, *(make.change(f"nobody-{number}:x") for number in range(20)))

    assert gateway.sources.catch_ups == 1


async def test_what_the_directory_explains_asks_nothing(gateway: Any, make: Any) -> None:
    await post(gateway, make.change())

    assert gateway.sources.catch_ups == 0


async def test_a_directory_that_cannot_catch_up_lets_the_provider_come_again(gateway: Any, make: Any) -> None:
    """It cannot be told whether this is a forgery, so it is neither accepted nor accused."""
    gateway.sources.can_catch_up = False

    answer = await post(gateway, make.change(), make.change("nobody:secret"))

    assert answer.status_code == 503
    assert len(gateway.kafka.written) == 1  # the genuine one did not wait for it


async def test_a_bounded_number_of_pushes_waits_for_the_directory(build: Any, make: Any) -> None:
    gateway = build(most_catch_ups=3)
    gateway.sources.put(make.source())
    gateway.sources.gate = asyncio.Event()

    pushes = [asyncio.create_task(post(gateway, make.change("nobody:x"))) for _ in range(10)]
    await asyncio.sleep(0.1)
    genuine = await post(gateway, make.change())
    gateway.sources.gate.set()
    statuses = sorted([(await push).status_code for push in pushes])

    assert gateway.sources.most_at_once == 3
    assert statuses == [401] * 3 + [503] * 7
    assert genuine.status_code == 202


# Kafka, and what cannot be taken


async def test_a_kafka_that_does_not_acknowledge_is_503_with_retry_after(gateway: Any, make: Any) -> None:
    gateway.kafka.is_away = True

    answer = await post(gateway, make.change())

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_mismatch_hides_no_failure_to_write(gateway: Any, make: Any) -> None:
    gateway.kafka.is_away = True

    assert (await post(gateway, make.change(), make.change("ds-1:wrong"))).status_code == 503


async def test_the_write_has_what_is_left_of_the_answer(gateway: Any, make: Any) -> None:
    await post(gateway, make.change())

    assert 0 < gateway.kafka.time_left_s[0] <= 2.2


async def test_pushes_before_the_directory_is_read_are_503(gateway: Any, make: Any) -> None:
    gateway.not_ready = "doc-sources is not read to its end yet"

    assert (await post(gateway, make.change())).status_code == 503


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b'{"value": {}}', b'{"value": [1]}', b'{"value": null}', b"\xff"]
)
async def test_a_malformed_body_is_400(gateway: Any, body: bytes) -> None:
    answer = await gateway.http.post("/webhooks/outlook", content=body)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_body_that_is_too_large_is_413_once_it_is_sent(gateway: Any) -> None:
    """Whoever is still sending, as a proxy is, does not look for an answer."""
    sent = 0

    async def in_chunks() -> Any:
        nonlocal sent
        for _ in range(20):
            sent += 1
            yield b"x" * 1_000

    announced = await gateway.http.post("/webhooks/outlook", content=b"x" * 10_001)
    chunked = await gateway.http.post("/webhooks/outlook", content=in_chunks())

    assert (announced.status_code, chunked.status_code) == (413, 413)
    assert sent == 20


async def test_a_body_of_more_items_than_a_genuine_one_can_hold_is_413(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`{}` has two bytes: a third of a million of them fit into a body, and each would be judged."""
    monkeypatch.setattr("webhook_gateway.api.graph_body.MOST_ITEMS", 10)
    for count, status in ((10, 401), (11, 413)):
        assert (await gateway.http.post("/webhooks/outlook", json={"value": [{}] * count})).status_code == status


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_post_is_answered(gateway: Any, method: str) -> None:
    answer = await gateway.http.request(method, "/webhooks/outlook")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


async def test_members_that_we_do_not_know_are_ignored(gateway: Any, make: Any) -> None:
    item = make.change(subscriptionExpirationDateTime="2026-12-01T00:00:00.0000000+05:30", encryptedContent={"a": 1})

    assert (await post(gateway, item, path="/webhooks/outlook")).status_code == 202


async def test_a_failure_of_ours_is_500_and_not_an_acceptance(
    gateway: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(gateway.kafka, "send_events", broken)

    assert (await post(gateway, make.change())).status_code == 500


# Security events


async def test_a_mismatch_is_a_security_event_with_its_source_address_and_no_secret(gateway: Any, make: Any) -> None:
    with capture_logs() as logs:
        await post(gateway, make.change("ds-1:guessed"), make.change("nobody:guessed"))

    [event] = [line for line in logs if line["event"] == "security_event"]
    assert event["kind"] == "client_state_mismatch"
    assert event["source_address"] == "203.0.113.9"
    assert event["items"] == 2
    assert event["doc_source_ids"] == ["ds-1"]
    assert "guessed" not in str(logs)


async def test_behind_a_trusted_proxy_the_forwarded_address_is_told(build: Any, make: Any) -> None:
    gateway = build(trusted_proxies="203.0.113.0/24, 10.0.0.0/8")
    headers = {"X-Forwarded-For": "1.1.1.1, 198.51.100.7, 10.1.2.3"}

    with capture_logs() as logs:
        await post(gateway, make.change("nobody:x"), headers=headers)

    assert [line["source_address"] for line in logs if line["event"] == "security_event"] == ["198.51.100.7"]


async def test_a_stranger_cannot_name_another_as_the_source(gateway: Any, make: Any) -> None:
    with capture_logs() as logs:
        await post(gateway, make.change("nobody:x"), headers={"X-Forwarded-For": "198.51.100.7"})

    assert [line["source_address"] for line in logs if line["event"] == "security_event"] == ["203.0.113.9"]


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook_gateway.api.webhooks._BODY_WITHIN_S", 0.05)


async def test_a_body_that_never_ends_is_408(little_time: None, gateway: Any) -> None:
    async def endless() -> Any:
        yield b"{"
        await asyncio.sleep(1)

    started = time.monotonic()
    answer = await gateway.http.post("/webhooks/outlook", content=endless())

    assert answer.status_code == 408
    assert time.monotonic() - started < 5
