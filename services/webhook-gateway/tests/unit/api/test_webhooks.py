"""The routes: what each request of a provider is answered, by status, headers and log lines."""

import asyncio
from typing import Any

import pytest
from gateway_fakes import (
    GMAIL_ADDRESS,
    SUBSCRIPTION,
    GatewayHarness,
    build_gateway,
    make_change,
    make_gmail_push,
    make_gmail_source,
    make_source,
)
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from mailroom_common.errors import Unavailable
from mailroom_common.events import DocSourceState
from webhook_gateway.adapters.pubsub_authenticator import PubSubAuthenticator
from webhook_gateway.api.webhooks import GRAPH_PATHS


@pytest.fixture
def gmail_gateway() -> GatewayHarness:
    return build_gateway(make_gmail_source())


@pytest.mark.parametrize("path", GRAPH_PATHS)
async def test_the_handshake_is_answered_with_the_decoded_token_in_plain_text(
    gateway: GatewayHarness, path: str
) -> None:
    response = await gateway.http.post(f"{path}?validationToken=Validation%3A+Request-Id%3A%20a-b%2Bc")

    assert response.status_code == 200
    assert response.text == "Validation: Request-Id: a-b+c"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_markup_in_the_token_comes_back_escaped(gateway: GatewayHarness) -> None:
    response = await gateway.http.post("/webhooks/outlook", params={"validationToken": "<script>alert(1)</script>"})

    assert response.text == "&lt;script&gt;alert(1)&lt;/script&gt;"


async def test_ampersand_and_quotes_in_the_validation_token_come_back_unchanged(gateway: GatewayHarness) -> None:
    """Graph compares the response with what it sent: an escaped `&` would fail the creation of the subscription."""
    token = """Validation: a&b "c" 'd' &lt;"""

    response = await gateway.http.post("/webhooks/outlook", params={"validationToken": token})

    assert response.text == token


async def test_an_empty_validation_token_is_400(gateway: GatewayHarness) -> None:
    assert (await gateway.http.post("/webhooks/outlook?validationToken=")).status_code == 400


async def test_the_handshake_needs_no_directory(gateway: GatewayHarness) -> None:
    gateway.not_ready_reason = "still loading"

    assert (await gateway.http.post("/webhooks/outlook?validationToken=x")).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_post_is_answered(gateway: GatewayHarness, method: str) -> None:
    response = await gateway.http.request(method, "/webhooks/outlook")

    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_pushes_before_the_directory_is_read_are_503(gateway: GatewayHarness) -> None:
    gateway.not_ready_reason = "doc-sources is not read to its end yet"

    assert (await gateway.post_items(make_change())).status_code == 503


async def test_an_unexpected_failure_is_500(gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(gateway.writer, "write_events", broken)

    assert (await gateway.post_items(make_change())).status_code == 500


async def test_a_kafka_that_does_not_acknowledge_is_503_with_retry_after(gateway: GatewayHarness) -> None:
    gateway.writer.is_unavailable = True

    response = await gateway.post_items(make_change())

    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
    assert response.headers["content-type"] == "application/problem+json"


async def test_each_write_gets_the_time_that_is_left_until_the_response_is_due(gateway: GatewayHarness) -> None:
    gateway.directory.unread.append(make_source("ds-new"))

    await gateway.post_items(make_change(), make_change("ds-new:secret"))

    first_s, second_s = gateway.writer.timeouts_s
    assert 2.2 >= first_s > second_s > 0


@pytest.mark.parametrize("is_gmail", [False, True])
async def test_no_push_is_acknowledged_before_kafka_has_acknowledged_it(is_gmail: bool) -> None:
    gateway = build_gateway(make_gmail_source("ds-gmail"), make_source())
    gateway.writer.acknowledged = asyncio.Event()

    push = asyncio.create_task(gateway.post_gmail(make_gmail_push()) if is_gmail else gateway.post_items(make_change()))
    await gateway.writer.write_started.wait()
    for _ in range(20):  # turns of the event loop in which a response could be sent
        await asyncio.sleep(0)
    assert not push.done()

    gateway.writer.acknowledged.set()
    assert (await push).status_code == 202


async def test_all_events_of_a_push_share_a_new_trace(gateway: GatewayHarness) -> None:
    trace = f"00-{1:032x}-{1:016x}-01"
    gateway.directory.unread.append(make_source("ds-new"))
    for _ in range(2):
        items = [make_change(), make_change("ds-new:secret")]
        await gateway.post_items(*items, headers={"traceparent": trace})
        gateway.directory.unread.append(gateway.directory.sources.pop("ds-new"))

    first, first_late, second, second_late = gateway.writer.traceparents
    assert first == first_late != second == second_late
    assert trace not in gateway.writer.traceparents  # an untrusted client does not choose it


async def test_the_time_to_a_response_is_measured_whatever_it_is() -> None:
    gateway = build_gateway(make_source())

    def read_count() -> float:
        return REGISTRY.get_sample_value("mailroom_gateway_response_seconds_count", {"provider": "outlook"}) or 0.0

    before = read_count()
    await gateway.post_items(make_change())
    await gateway.post_items(make_change("ds-1:wrong"))
    assert read_count() - before == 2


async def test_responses_and_items_are_counted() -> None:
    gateway = build_gateway(make_source(), make_source("ds-2", state=DocSourceState.PAUSED), make_gmail_source("ds-3"))

    def read_counters() -> dict[tuple[str, str], float]:
        return {
            (provider, value): REGISTRY.get_sample_value(name, {"provider": provider, label: value}) or 0.0
            for provider in ("outlook", "gmail")
            for name, label, values in (
                ("mailroom_gateway_items_total", "outcome", ("written", "dropped", "mismatched", "unknown_address")),
                ("mailroom_gateway_responses_total", "status", ("200", "202", "401", "403")),
            )
            for value in values
        }

    before = read_counters()
    await gateway.post_items(make_change(), make_change("ds-2:secret"), make_change("ds-1:wrong"))
    await gateway.post_items(make_change(), make_change("ds-2:secret"))
    await gateway.post_gmail(make_gmail_push())
    gateway.directory.add_sources(make_gmail_source("ds-3", state=DocSourceState.PAUSED))
    await gateway.post_gmail(make_gmail_push())
    await gateway.post_gmail(make_gmail_push("nobody@example.com"))
    await gateway.post_gmail(make_gmail_push(), params={})
    after = read_counters()

    assert {key: after[key] - before[key] for key in after if after[key] != before[key]} == {
        ("outlook", "written"): 2,
        ("outlook", "dropped"): 2,
        ("outlook", "mismatched"): 1,
        ("outlook", "401"): 1,
        ("outlook", "202"): 1,
        ("gmail", "written"): 1,
        ("gmail", "dropped"): 1,
        ("gmail", "unknown_address"): 1,
        ("gmail", "200"): 1,
        ("gmail", "202"): 2,
        ("gmail", "403"): 1,
    }


async def test_a_mismatch_is_a_security_event_with_its_source_address_and_no_secret(gateway: GatewayHarness) -> None:
    with capture_logs() as logs:
        await gateway.post_items(make_change("ds-1:guessed"), make_change("nobody:guessed"))

    [event] = [line for line in logs if line["event"] == "security_event_detected"]
    assert event["kind"] == "client_state_mismatch"
    assert event["source_address"] == "203.0.113.9"
    assert event["items"] == 2
    assert event["doc_source_ids"] == ["ds-1"]
    assert "guessed" not in str(logs)


async def test_behind_a_trusted_proxy_the_forwarded_address_is_logged() -> None:
    gateway = build_gateway(trusted_proxies="203.0.113.0/24, 10.0.0.0/8")
    headers = {"X-Forwarded-For": "1.1.1.1, 198.51.100.7, 10.1.2.3"}

    with capture_logs() as logs:
        await gateway.post_items(make_change("nobody:x"), headers=headers)

    assert [line["source_address"] for line in logs if line["event"] == "security_event_detected"] == ["198.51.100.7"]


async def test_a_client_that_is_no_trusted_proxy_cannot_forge_the_source_address(gateway: GatewayHarness) -> None:
    with capture_logs() as logs:
        await gateway.post_items(make_change("nobody:x"), headers={"X-Forwarded-For": "198.51.100.7"})

    assert [line["source_address"] for line in logs if line["event"] == "security_event_detected"] == ["203.0.113.9"]


async def test_the_token_may_come_in_a_header(gmail_gateway: GatewayHarness) -> None:
    response = await gmail_gateway.post_gmail(make_gmail_push(), params={}, headers={"x-goog-pubsub-token": "tok"})

    assert response.status_code == 202


@pytest.mark.parametrize(
    "options",
    [
        {"params": {}},
        {"params": {"token": "wrong"}},
        {"params": {"token": ""}},
        {"params": {}, "headers": {"x-goog-pubsub-token": "wrong"}},
    ],
)
async def test_a_wrong_or_missing_token_is_403_before_anything_else_is_checked(
    gmail_gateway: GatewayHarness, options: Any
) -> None:
    response = await gmail_gateway.post_gmail(make_gmail_push("nobody@example.com"), **options)

    assert response.status_code == 403
    assert gmail_gateway.directory.catch_up_timeouts_s == []
    assert gmail_gateway.writer.written == []


async def test_with_nothing_configured_every_push_is_refused() -> None:
    gateway = build_gateway(authenticator=PubSubAuthenticator(static_token=None, token_verifier=None))
    gateway.directory.add_sources(make_gmail_source())

    attempts: list[dict[str, Any]] = [{}, {"params": {}}, {"headers": {"authorization": "Bearer x"}}]
    for options in attempts:
        assert (await gateway.post_gmail(make_gmail_push(), **options)).status_code == 403


async def test_a_refused_push_is_a_security_event_without_the_token(gmail_gateway: GatewayHarness) -> None:
    with capture_logs() as logs:
        await gmail_gateway.post_gmail(make_gmail_push(), params={"token": "guessed"})

    assert [line["kind"] for line in logs] == ["pubsub_token_refused"]
    assert "guessed" not in str(logs)


async def test_a_proof_that_cannot_be_judged_yet_is_503() -> None:
    class Waiting:
        async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
            raise Unavailable("Google's keys are not fetched yet")

    assert (await build_gateway(authenticator=Waiting()).post_gmail(make_gmail_push())).status_code == 503


async def test_a_push_of_another_subscription_is_403() -> None:
    gateway = build_gateway(make_gmail_source(), subscription=SUBSCRIPTION)

    for body in (make_gmail_push(subscription="projects/evil/subscriptions/gmail"), make_gmail_push()):
        assert (await gateway.post_gmail(body)).status_code == 403
    assert (await gateway.post_gmail(make_gmail_push(subscription=SUBSCRIPTION))).status_code == 202


async def test_in_the_unwrapped_form_a_header_names_the_subscription() -> None:
    gateway = build_gateway(make_gmail_source(), subscription=SUBSCRIPTION)
    body = {"emailAddress": GMAIL_ADDRESS, "historyId": 1}
    named = {"x-goog-pubsub-subscription-name": SUBSCRIPTION}

    assert (await gateway.post_gmail(body, headers=named)).status_code == 202
    assert (await gateway.post_gmail(body, headers=dict.fromkeys(named, "other"))).status_code == 403
    assert (await gateway.post_gmail(body)).status_code == 403


async def test_a_wrong_subscription_is_refused_before_the_address_is_looked_for() -> None:
    gateway = build_gateway(subscription=SUBSCRIPTION)

    assert (await gateway.post_gmail(make_gmail_push("nobody@example.com", subscription="other"))).status_code == 403
    assert gateway.directory.catch_up_timeouts_s == []


async def test_a_gmail_push_that_kafka_does_not_acknowledge_is_503_with_retry_after(
    gmail_gateway: GatewayHarness,
) -> None:
    gmail_gateway.writer.is_unavailable = True

    response = await gmail_gateway.post_gmail(make_gmail_push())

    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
