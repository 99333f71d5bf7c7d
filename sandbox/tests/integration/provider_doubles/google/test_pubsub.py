"""Watches and their pushes: wrapped or not, signed or with a token, repeated until acknowledged."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from mailroom_sandbox.testkit import contracts
from mailroom_sandbox.testkit.mailbox_users import GMAIL, MailboxUser, build_mail, sign_in_gmail_user
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers
from mailroom_sandbox.testkit.webhook_receiver import WebhookReceiver

TOPIC = "projects/mailroom-sandbox/topics/gmail"


async def watched(providers: RunningProviders, **fields: object) -> tuple[MailboxUser, dict[str, Any]]:
    await providers.control.find_or_create_mailbox("gmail", GMAIL)
    person = await sign_in_gmail_user(providers)
    return person, await person.post_json("/watch", {"topicName": TOPIC, **fields})


def signal(post: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(base64.b64decode(json.loads(post["body"])["message"]["data"])))


async def test_watch_lasts_a_week_and_announces_itself(folder: Path, webhook: WebhookReceiver) -> None:
    async with running_providers(folder, pubsub_push_url=f"{webhook.url}/webhooks/gmail") as providers:
        person, watch = await watched(providers)
        contracts.check_gmail_body("WatchResponse", watch)
        (post,) = await webhook.wait_for_posts(1)
        assert signal(post) == {"emailAddress": GMAIL, "historyId": int(watch["historyId"])}
        body = json.loads(post["body"])
        assert body.keys() == {"message", "subscription"}
        contracts.check_pubsub_message(body["message"])
        assert body["message"]["messageId"] == body["message"]["message_id"]
        assert "authorization" not in post["headers"]
        assert post["query"] == {}
        await providers.control.deliver_mail(build_mail(), GMAIL)
        posts = await webhook.wait_for_posts(2)
        assert signal(posts[1])["historyId"] == int((await person.get_json("/profile"))["historyId"])


async def test_push_carries_token_and_signature_that_are_configured(folder: Path, webhook: WebhookReceiver) -> None:
    changed: dict[str, Any] = {
        "pubsub_push_url": f"{webhook.url}/webhooks/gmail?from=google",
        "pubsub_token": "s3cret/token",
        "pubsub_service_account": "push@mailroom.example",
    }
    async with running_providers(folder, **changed) as providers:
        await watched(providers)
        (post,) = await webhook.wait_for_posts(1)
        keys = (await providers.http.get(providers.at.google_certs_url)).json()
        assert providers.mailroom_environment()["MAILROOM_PUBSUB_AUDIENCE"] == changed["pubsub_push_url"]
    assert post["query"] == {"from": ["google"], "token": ["s3cret/token"]}
    token = post["headers"]["authorization"].removeprefix("Bearer ")
    assert jwt.get_unverified_header(token)["kid"] == keys["keys"][0]["kid"]
    signing = jwt.PyJWKSet.from_dict(keys).keys[0]
    claims = jwt.decode(token, signing, algorithms=["RS256"], audience=changed["pubsub_push_url"])
    assert claims["email"] == "push@mailroom.example"
    assert claims["email_verified"] is True
    assert claims["iss"] == "https://accounts.google.com"
    assert claims["exp"] - claims["iat"] == 3600


async def test_unwrapped_push_is_the_bare_signal_with_metadata_in_headers(
    folder: Path, webhook: WebhookReceiver
) -> None:
    url = f"{webhook.url}/webhooks/gmail"
    async with running_providers(folder, pubsub_push_url=url, pubsub_wrapped=False) as providers:
        _, watch = await watched(providers)
        (post,) = await webhook.wait_for_posts(1)
    assert json.loads(post["body"]) == {"emailAddress": GMAIL, "historyId": int(watch["historyId"])}
    assert post["headers"]["x-goog-pubsub-subscription-name"] == "projects/mailroom-sandbox/subscriptions/gmail-push"
    assert post["headers"]["x-goog-pubsub-message-id"].isdigit()


@pytest.mark.parametrize("nack", [203, 401, 503])
async def test_anything_but_an_acknowledgement_is_repeated_with_the_same_id(
    folder: Path, webhook: WebhookReceiver, nack: int
) -> None:
    webhook.statuses = [nack, nack, 204]
    async with running_providers(folder, pubsub_push_url=f"{webhook.url}/webhooks/gmail") as providers:
        await watched(providers)
        posts = await webhook.wait_for_posts(3)
        assert len({json.loads(post["body"])["message"]["messageId"] for post in posts}) == 1
        assert [one["attempts"] for one in await providers.wait_until_settled()] == [3]


async def test_second_watch_renews_and_another_topic_is_refused(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    await gmail.post_json("/watch", {"topicName": TOPIC, "labelIds": ["INBOX"], "labelFilterBehavior": "INCLUDE"})
    await gmail.post_json("/watch", {"topicName": TOPIC})
    providers.state.store.execute_sql("update watch set topic = 'projects/other/topics/t'")
    refused = await gmail.post_json("/watch", {"topicName": TOPIC}, status=400)
    assert refused["error"]["message"].startswith("Only one user push notification client allowed per developer")
    stopped = await gmail.send_request("POST", "/stop")
    assert (stopped.status_code, stopped.content) == (204, b"")
    await gmail.post_json("/watch", {"topicName": TOPIC})


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 400),
        ({"topicName": "gmail"}, 400),
        ({"topicName": "projects/mailroom-sandbox/topics/other"}, 404),
        ({"topicName": TOPIC, "labelFilterBehavior": "sometimes"}, 400),
    ],
)
async def test_wrong_watch_is_refused(gmail: MailboxUser, fields: dict[str, str], status: int) -> None:
    await gmail.post_json("/watch", fields, status=status)


@pytest.mark.parametrize(("behavior", "announced"), [("include", ["inbox"]), ("exclude", ["spam"])])
async def test_label_filter_decides_what_is_announced(
    folder: Path, webhook: WebhookReceiver, behavior: str, announced: list[str]
) -> None:
    async with running_providers(folder, pubsub_push_url=f"{webhook.url}/webhooks/gmail") as providers:
        person, _ = await watched(providers, labelIds=["INBOX"], labelFilterBehavior=behavior)
        newest = {}
        for place in ("inbox", "spam"):
            await providers.control.deliver_mail(build_mail(place), GMAIL, folder=place)
            newest[place] = int((await person.get_json("/profile"))["historyId"])
        await providers.wait_until_settled()
        assert [signal(post)["historyId"] for post in webhook.received[1:]] == [newest[place] for place in announced]


async def test_stopped_or_expired_watch_is_silent(folder: Path, webhook: WebhookReceiver) -> None:
    async with running_providers(folder, pubsub_push_url=f"{webhook.url}/webhooks/gmail") as providers:
        person, _ = await watched(providers)
        await providers.wait_until_settled()
        await person.send_request("POST", "/stop")
        await providers.control.deliver_mail(build_mail(), GMAIL)
        assert await providers.control.list_watches() == []
        await person.post_json("/watch", {"topicName": TOPIC})
        await providers.wait_until_settled()
        providers.state.store.execute_sql("update watch set expires_ms = 0")
        await providers.control.deliver_mail(build_mail(), GMAIL)
        assert len(await providers.wait_until_settled()) == 2


async def test_more_than_one_event_a_second_is_dropped_by_the_switch(folder: Path, webhook: WebhookReceiver) -> None:
    changed: dict[str, Any] = {
        "pubsub_push_url": f"{webhook.url}/webhooks/gmail",
        "pubsub_drop_above_one_per_second": True,
    }
    async with running_providers(folder, **changed) as providers:
        await watched(providers)
        await providers.control.deliver_mail(build_mail(), GMAIL, times=20)
        sent = len(await providers.wait_until_settled())
        assert 2 <= sent < 21


async def test_notifications_fault_holds_for_gmail_too(folder: Path, webhook: WebhookReceiver) -> None:
    async with running_providers(folder, pubsub_push_url=f"{webhook.url}/webhooks/gmail") as providers:
        await providers.control.set_fault("notifications", mode="off")
        await watched(providers)
        assert (await providers.control.list_notifications())["waiting"] == 0
        assert webhook.received == []


@pytest.mark.parametrize(("status", "reason"), [(403, "forbidden"), (503, "backendError")])
async def test_watch_is_refused_and_all_else_is_served(
    providers: RunningProviders, gmail: MailboxUser, status: int, reason: str
) -> None:
    await providers.control.set_fault("watch", mailbox=GMAIL, status=status)
    refusal = await gmail.post_json("/watch", {"topicName": TOPIC}, status=status)
    assert refusal["error"]["errors"][0]["reason"] == reason
    await gmail.get_json("/messages")
    assert await providers.control.list_watches() == []


async def test_watch_without_expiration(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.set_fault("watch", mailbox=GMAIL, mode="no_expiration")
    assert (await gmail.post_json("/watch", {"topicName": TOPIC})).keys() == {"historyId"}


async def test_watch_is_granted_for_less_than_a_week(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.set_fault("subscription_limits", mailbox=GMAIL, granted_s=90)
    before_s = time.time()
    expiration = (await gmail.post_json("/watch", {"topicName": TOPIC}))["expiration"]
    assert 85 < int(expiration) / 1000 - before_s < 120
