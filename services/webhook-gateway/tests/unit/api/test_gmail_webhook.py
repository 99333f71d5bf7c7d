"""`POST /webhooks/gmail`: token, then subscription, then address."""

import base64
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from mailroom_common.errors import Unavailable
from mailroom_common.events import DocSourceState, Notification
from webhook_gateway.adapters.pubsub_proof import PubSubProof

TOKEN = {"token": "tok"}
ADDRESS = "billing@example.com"

# Any: fixtures of conftest.py, whose classes importmode=importlib keeps out of reach.


@pytest.fixture
def gateway(build: Any, make: Any) -> Any:
    gateway = build()
    gateway.sources.put(make.source(provider="gmail", address=ADDRESS, client_states=[]))
    return gateway


def wrapped(
    address: str = ADDRESS, history_id: Any = 9876543210, subscription: str | None = None, *, url_safe: bool = False
) -> dict[str, Any]:
    text = json.dumps({"emailAddress": address, "historyId": history_id}).encode()
    data = (base64.urlsafe_b64encode(text).rstrip(b"=") if url_safe else base64.b64encode(text)).decode()
    message = {"data": data, "messageId": "1", "message_id": "1", "publishTime": "2026-11-28T12:00:00Z"}
    return {"message": message} | ({} if subscription is None else {"subscription": subscription})


async def push(gateway: Any, body: Any = None, **options: Any) -> Any:
    return await gateway.http.post("/webhooks/gmail", json=body or wrapped(), **{"params": TOKEN, **options})


async def test_a_push_becomes_a_notification_and_202(gateway: Any, make: Any) -> None:
    answer = await push(gateway)

    assert answer.status_code == 202
    [(topic, key, event)] = gateway.kafka.written
    assert (topic, key) == ("notifications", "ds-1")
    assert isinstance(event, Notification)
    assert (event.provider, event.history_id, event.tenant_id) == ("gmail", "9876543210", "acme")
    assert event.provider_event == "billing@example.com|9876543210"
    assert event.occurred_at == make.now


@pytest.mark.parametrize(
    "body",
    [
        wrapped(),
        wrapped(history_id="9876543210"),
        wrapped(url_safe=True),
        {"emailAddress": ADDRESS, "historyId": 9876543210},
        {"emailAddress": ADDRESS, "historyId": "9876543210"},
    ],
)
async def test_wrapped_and_unwrapped_with_number_or_text_are_the_same(gateway: Any, body: dict[str, Any]) -> None:
    assert (await push(gateway, body)).status_code == 202
    assert [event.history_id for event in gateway.kafka.events("notifications")] == ["9876543210"]


async def test_the_same_push_again_has_the_same_event_id(gateway: Any) -> None:
    for history_id in (1, 1, 2):
        await push(gateway, wrapped(history_id=history_id))

    first, repeat, other = [event.event_id for event in gateway.kafka.events("notifications")]
    assert first == repeat != other


async def test_every_source_of_the_mailbox_gets_a_record_of_its_own(gateway: Any, make: Any) -> None:
    gmail = {"provider": "gmail", "client_states": []}
    gateway.sources.put(
        make.source("ds-2", **gmail, tenant_id="other", address=ADDRESS),
        make.source("ds-3", **gmail, address="me@example.com", aliases=[ADDRESS]),
        make.source("ds-4", **gmail, address=ADDRESS, state=DocSourceState.PAUSED),
        make.source("ds-5", **gmail, address="somebody@example.com"),
    )

    assert (await push(gateway)).status_code == 202

    assert {(key, event.tenant_id) for _, key, event in gateway.kafka.written} == {
        ("ds-1", "acme"),
        ("ds-2", "other"),
        ("ds-3", "acme"),
    }
    assert len({event.event_id for _, _, event in gateway.kafka.written}) == 3


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_source_that_is_paused_or_being_deleted_is_202_and_dropped(
    gateway: Any, make: Any, state: DocSourceState
) -> None:
    gateway.sources.put(make.source(provider="gmail", address=ADDRESS, state=state))

    assert (await push(gateway)).status_code == 202
    assert gateway.kafka.written == []


# The token


async def test_the_token_may_come_in_a_header(gateway: Any) -> None:
    answer = await push(gateway, params={}, headers={"x-goog-pubsub-token": "tok"})

    assert answer.status_code == 202


@pytest.mark.parametrize(
    "options",
    [
        {"params": {}},
        {"params": {"token": "wrong"}},
        {"params": {"token": ""}},
        {"params": {}, "headers": {"x-goog-pubsub-token": "wrong"}},
    ],
)
async def test_a_wrong_or_missing_token_is_403_and_nothing_is_looked_at(gateway: Any, options: Any) -> None:
    answer = await push(gateway, wrapped("nobody@example.com"), **options)

    assert answer.status_code == 403
    assert gateway.sources.catch_ups == 0
    assert gateway.kafka.written == []


async def test_with_nothing_configured_every_push_is_refused(build: Any, make: Any) -> None:
    gateway = build(proof=PubSubProof(static_token=None, signed=None))
    gateway.sources.put(make.source(provider="gmail", address=ADDRESS))

    attempts: list[dict[str, Any]] = [{}, {"params": {}}, {"headers": {"authorization": "Bearer x"}}]
    for options in attempts:
        assert (await push(gateway, **options)).status_code == 403


async def test_a_refused_push_is_a_security_event_without_the_token(gateway: Any) -> None:
    with capture_logs() as logs:
        await push(gateway, params={"token": "guessed"})

    assert [line["kind"] for line in logs] == ["pubsub_token_refused"]
    assert "guessed" not in str(logs)


async def test_a_proof_that_cannot_be_judged_yet_is_503(build: Any, make: Any) -> None:
    class Waiting:
        async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
            raise Unavailable("Google's keys are not fetched yet")

    assert (await push(build(proof=Waiting()))).status_code == 503


# The subscription


async def test_a_push_of_another_subscription_is_403(build: Any, make: Any) -> None:
    gateway = build(subscription=make.subscription)
    gateway.sources.put(make.source(provider="gmail", address=ADDRESS))

    for body in (wrapped(subscription="projects/evil/subscriptions/gmail"), wrapped()):
        assert (await push(gateway, body)).status_code == 403
    assert (await push(gateway, wrapped(subscription=make.subscription))).status_code == 202


async def test_in_the_unwrapped_form_a_header_names_the_subscription(build: Any, make: Any) -> None:
    gateway = build(subscription=make.subscription)
    gateway.sources.put(make.source(provider="gmail", address=ADDRESS))
    body = {"emailAddress": ADDRESS, "historyId": 1}
    named = {"x-goog-pubsub-subscription-name": make.subscription}

    assert (await push(gateway, body, headers=named)).status_code == 202
    assert (await push(gateway, body, headers=dict.fromkeys(named, "other"))).status_code == 403
    assert (await push(gateway, body)).status_code == 403


async def test_a_wrong_subscription_is_refused_before_the_address_is_looked_for(build: Any, make: Any) -> None:
    gateway = build(subscription=make.subscription)

    assert (await push(gateway, wrapped("nobody@example.com", subscription="other"))).status_code == 403
    assert gateway.sources.catch_ups == 0


# The address


async def test_an_unknown_address_is_200_after_the_directory_has_caught_up(gateway: Any) -> None:
    """A repeat would not make it known, so Pub/Sub need not come again."""
    answer = await push(gateway, wrapped("nobody@example.com"))

    assert answer.status_code == 200
    assert gateway.sources.catch_ups == 1
    assert gateway.kafka.written == []


async def test_an_address_newer_than_the_directory_is_looked_for(gateway: Any, make: Any) -> None:
    gateway.sources.to_come.append(make.source("ds-new", provider="gmail", address="new@example.com"))

    assert (await push(gateway, wrapped("new@example.com"))).status_code == 202
    assert [key for _, key, _ in gateway.kafka.written] == ["ds-new"]


async def test_an_address_that_cannot_be_looked_for_is_not_acknowledged(gateway: Any) -> None:
    gateway.sources.can_catch_up = False

    assert (await push(gateway, wrapped("new@example.com"))).status_code == 503


# What cannot be taken


async def test_a_kafka_that_does_not_acknowledge_is_503_with_retry_after(gateway: Any) -> None:
    gateway.kafka.is_away = True

    answer = await push(gateway)

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    "body",
    [
        {"message": {}},
        {"message": {"data": "%%%"}},
        {"message": {"data": base64.b64encode(b"no json").decode()}},
        {"message": {"data": base64.b64encode(b"[]").decode()}},
        {"message": "text"},
        {"something": "else"},
        {"emailAddress": ADDRESS},
        {"emailAddress": ADDRESS, "historyId": True},
        {"emailAddress": ADDRESS, "historyId": "-5"},
        {"emailAddress": "", "historyId": 5},
        {"emailAddress": 7, "historyId": 5},
        [1],
    ],
)
async def test_a_malformed_body_is_400(gateway: Any, body: Any) -> None:
    assert (await push(gateway, body)).status_code == 400
    assert gateway.kafka.written == []


async def test_a_body_that_is_too_large_is_413(gateway: Any) -> None:
    assert (await push(gateway, {"x": "y" * 10_001})).status_code == 413
