"""Subscriptions at Graph: handshake, limits, ownership, and what is pushed to whom, as often as it takes."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mailroom_sandbox.testkit import contracts
from mailroom_sandbox.testkit.mailbox_users import (
    OUTLOOK,
    MailboxUser,
    build_mail,
    days_from_now,
    request_microsoft_token,
    sign_in_outlook_user,
)
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers
from mailroom_sandbox.testkit.webhook_receiver import WebhookReceiver

IMMUTABLE = 'IdType="ImmutableId"'


def fields(webhook: WebhookReceiver, **changed: object) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "changeType": "created",
        "notificationUrl": f"{webhook.url}/webhooks/outlook?from=graph",
        "lifecycleNotificationUrl": f"{webhook.url}/webhooks/outlook/lifecycle",
        "resource": "/me/messages",
        "expirationDateTime": days_from_now(3),
        "clientState": "source:secret",
        **changed,
    }
    return {name: value for name, value in whole.items() if value is not None}


def as_https(body: dict[str, Any]) -> dict[str, Any]:
    """The contract wants https; the sandbox lets tests have http on loopback addresses."""
    return dict(json.loads(json.dumps(body).replace('"http://', '"https://')))


async def create(
    person: MailboxUser, webhook: WebhookReceiver, prefer: str | None = IMMUTABLE, **changed: object
) -> dict[str, Any]:
    return await person.post_json("/subscriptions", fields(webhook, **changed), prefer=prefer, status=201)


async def refused(person: MailboxUser, webhook: WebhookReceiver, status: int = 400, **changed: object) -> str:
    body = await person.post_json("/subscriptions", fields(webhook, **changed), status=status)
    contracts.check_graph_body("microsoft.graph.ODataErrors.ODataError", body)
    return str(body["error"]["message"])


async def test_creation_follows_a_handshake_of_both_addresses(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    made = await create(outlook, webhook)
    contracts.check_graph_body("subscription", as_https(made))
    assert [shake["path"] for shake in webhook.handshakes] == ["/webhooks/outlook", "/webhooks/outlook/lifecycle"]
    assert webhook.handshakes[0]["query"]["from"] == ["graph"]
    token = webhook.handshakes[0]["query"]["validationToken"][0]
    assert " " in token
    assert ":" in token
    assert webhook.handshakes[0]["headers"]["content-type"] == "text/plain; charset=utf-8"
    assert (made["clientState"], made["latestSupportedTlsVersion"]) == ("source:secret", "v1_2")


async def test_refused_handshake_refuses_the_subscription(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    webhook.shakes_hands = False
    message = await refused(outlook, webhook)
    assert message.startswith("Subscription validation request failed.")
    assert message.endswith("HTTP status code is 'Forbidden'.")
    assert (await outlook.get_json("/subscriptions"))["value"] == []


async def test_unreachable_webhook_refuses_the_subscription(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    message = await refused(outlook, webhook, notificationUrl="http://127.0.0.1:1/nobody")
    assert message.startswith("Subscription validation request failed.")


async def test_expiry_is_limited_above_and_raised_below(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    message = await refused(outlook, webhook, expirationDateTime=days_from_now(10_071 / 1440))
    assert message == "Subscription expiration can only be 10070 minutes in the future."
    longest = await create(outlook, webhook, expirationDateTime=days_from_now(10_069 / 1440))
    shortest = await create(outlook, webhook, expirationDateTime=days_from_now(1 / 1440))
    ahead = _time(shortest["expirationDateTime"]) - datetime.now(UTC)
    assert timedelta(minutes=44) < ahead <= timedelta(minutes=45)
    assert _time(longest["expirationDateTime"]) > _time(shortest["expirationDateTime"])
    assert len(shortest["expirationDateTime"].partition(".")[2]) == len("1234567Z")


@pytest.mark.parametrize(
    "changed",
    [
        {"resource": "/me/events"},
        {"resource": "/me/messages?$filter=isRead eq false"},
        {"changeType": "moved"},
        {"clientState": "x" * 129},
        {"expirationDateTime": "tomorrow"},
        {"notificationUrl": "http://mailroom.example/webhook"},
        {"notificationUrl": None},
        {"vapidPublicKey": "x"},
        {"includeResourceData": True},
        {"latestSupportedTlsVersion": "v2"},
    ],
)
async def test_wrong_members_are_refused(
    outlook: MailboxUser, webhook: WebhookReceiver, changed: dict[str, Any]
) -> None:
    assert await refused(outlook, webhook, **changed)
    assert webhook.handshakes == []


async def test_nobody_subscribes_to_a_strangers_mailbox(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    message = await refused(outlook, webhook, 403, resource="/users/bob@company.example/messages")
    assert "Forbidden" in message


async def test_list_shows_a_user_his_own_and_an_application_those_of_its_tenant(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
    ours, his = await create(outlook, webhook), await create(bob, webhook)
    scope = "https://graph.microsoft.com/.default"
    granted = await request_microsoft_token(providers, "company.example", grant_type="client_credentials", scope=scope)
    application = MailboxUser(providers.http, providers.at.graph_url, granted.json())
    page = await outlook.get_json("/subscriptions")
    contracts.check_graph_response_body("GET", "/subscriptions", as_https(page))
    assert [one["id"] for one in page["value"]] == [ours["id"]]
    assert {one["id"] for one in (await application.get_json("/subscriptions"))["value"]} == {ours["id"], his["id"]}
    await outlook.get_json(f"/subscriptions/{his['id']}", status=404)
    assert (await outlook.send_request("DELETE", f"/subscriptions/{his['id']}")).status_code == 404


async def test_renewal_moves_the_expiry_and_nothing_else(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    made = await create(outlook, webhook)
    path = f"/subscriptions/{made['id']}"
    answer = await outlook.send_request("PATCH", path, json={"expirationDateTime": days_from_now(5)})
    renewed = answer.json()
    contracts.check_graph_body("subscription", as_https(renewed))
    assert _time(renewed["expirationDateTime"]) > _time(made["expirationDateTime"])
    same = {name: value for name, value in renewed.items() if name not in ("expirationDateTime", "@odata.context")}
    assert same.items() <= made.items()
    assert (await outlook.send_request("PATCH", path, json={})).status_code == 400
    assert (
        await outlook.send_request("PATCH", path, json={"expirationDateTime": days_from_now(30)})
    ).status_code == 400


async def test_changed_address_is_shaken_hands_with_again(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    made = await create(outlook, webhook)
    answer = await outlook.send_request(
        "PATCH", f"/subscriptions/{made['id']}", json={"notificationUrl": f"{webhook.url}/elsewhere"}
    )
    assert answer.status_code == 200
    assert webhook.handshakes[-1]["path"] == "/elsewhere"


async def test_reauthorize_keeps_the_expiry_and_delete_ends_it(outlook: MailboxUser, webhook: WebhookReceiver) -> None:
    made = await create(outlook, webhook)
    path = f"/subscriptions/{made['id']}"
    assert (await outlook.send_request("POST", f"{path}/reauthorize")).status_code == 204
    assert (await outlook.get_json(path))["expirationDateTime"] == made["expirationDateTime"]
    assert (await outlook.send_request("DELETE", path)).status_code == 204
    gone = await outlook.get_json(path, status=404)
    assert gone["error"]["code"] == "ResourceNotFound"


async def test_expired_subscription_is_gone_and_silent(folder: Path, webhook: WebhookReceiver) -> None:
    today = datetime.now(UTC)
    times = [today]
    async with running_providers(folder, now=lambda: times[-1]) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        made = await create(person, webhook, expirationDateTime=(today + timedelta(minutes=50)).isoformat())
        times.append(today + timedelta(minutes=51))
        await person.get_json(f"/subscriptions/{made['id']}", status=404)
        await providers.control.deliver_mail(build_mail(), OUTLOOK)
        assert (await providers.control.list_notifications())["waiting"] == 0


async def test_duplicate_is_refused_only_by_the_switch(folder: Path, webhook: WebhookReceiver) -> None:
    async with running_providers(folder) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        await create(person, webhook)
        await create(person, webhook)
    async with running_providers(folder, refuse_duplicate_subscriptions=True) as providers:
        person = await sign_in_outlook_user(providers)
        message = await refused(person, webhook, 409)
        assert message.endswith("already exists for the requested combination")


async def test_new_mail_is_announced_with_what_the_contract_asks(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    made = await create(outlook, webhook)
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK)
    (post,) = await webhook.wait_for_posts(1)
    contracts.check_graph_body("notificationPost", json.loads(post["body"]))
    assert (post["path"], post["query"]) == ("/webhooks/outlook", {"from": ["graph"]})
    (item,) = webhook.list_items()
    user_id = (await outlook.get_json("/me"))["id"]
    assert item["resource"] == f"Users/{user_id}/Messages/{message_id}"
    assert item["resourceData"]["@odata.type"] == "#Microsoft.Graph.Message"
    assert item["resourceData"]["id"] == message_id
    assert (item["subscriptionId"], item["clientState"]) == (made["id"], "source:secret")
    assert (item["changeType"], item["subscriptionExpirationDateTime"][-6:]) == ("created", "+00:00")


async def test_subscription_keeps_the_id_format_it_was_created_with(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook, prefer=None)
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await webhook.wait_for_posts(1)
    (item,) = webhook.list_items()
    assert item["resourceData"]["id"] != message_id
    assert (await outlook.get_json(f"/me/messages/{item['resourceData']['id']}"))["id"] == item["resourceData"]["id"]


async def test_folder_subscription_hears_only_of_its_folder(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook, resource="me/mailFolders('Inbox')/messages", changeType="created,deleted")
    await providers.control.deliver_mail(build_mail(), OUTLOOK, folder="archive")
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.move_message(OUTLOOK, message_id, "archive")
    await webhook.wait_for_posts(2)
    assert sorted(item["changeType"] for item in webhook.list_items()) == ["created", "deleted"]


async def test_move_in_a_watched_mailbox_is_an_update_of_an_immutable_id(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook, changeType="created,updated,deleted")
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.move_message(OUTLOOK, message_id, "archive")
    await providers.control.mark_read(OUTLOOK, message_id)
    await providers.control.delete_message(OUTLOOK, message_id)
    await webhook.wait_for_posts(4)
    assert {item["resourceData"]["id"] for item in webhook.list_items()} == {message_id}
    assert sorted(item["changeType"] for item in webhook.list_items()) == ["created", "deleted", "updated", "updated"]


async def test_refused_notification_comes_again_until_it_is_accepted(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    webhook.statuses = [503, 401, 500]
    await create(outlook, webhook)
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    posts = await webhook.wait_for_posts(4)
    assert len({post["body"] for post in posts}) == 1
    settled = await providers.wait_until_settled()
    assert [(one["status"], one["attempts"]) for one in settled] == [("accepted", 4)]


async def test_undelivered_notification_survives_a_restart(folder: Path, webhook: WebhookReceiver) -> None:
    async with running_providers(folder, notification_retry_base_s=30) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        await create(person, webhook)
        webhook.statuses = [503]
        await providers.control.deliver_mail(build_mail(), OUTLOOK)
        await webhook.wait_for_posts(1)
    async with running_providers(folder) as providers:
        assert (await providers.control.list_notifications())["waiting"] == 1
        assert await providers.control.retry_pushes_now() == 1
        await webhook.wait_for_posts(2)


@pytest.mark.parametrize("event", ["missed", "reauthorizationRequired", "subscriptionRemoved"])
async def test_lifecycle_event_goes_to_its_own_address(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver, event: str
) -> None:
    made = await create(outlook, webhook)
    assert await providers.control.send_lifecycle_event(event, address=OUTLOOK) == 1
    (post,) = await webhook.wait_for_posts(1)
    contracts.check_graph_body("notificationPost", json.loads(post["body"]))
    (item,) = webhook.list_items()
    assert (post["path"], item["lifecycleEvent"]) == ("/webhooks/outlook/lifecycle", event)
    assert item.keys() == {
        "subscriptionId",
        "subscriptionExpirationDateTime",
        "clientState",
        "tenantId",
        "lifecycleEvent",
    }
    left = [one["id"] for one in (await outlook.get_json("/subscriptions"))["value"]]
    assert left == ([] if event == "subscriptionRemoved" else [made["id"]])


async def test_without_lifecycle_address_no_event_is_sent(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook, lifecycleNotificationUrl=None)
    assert await providers.control.send_lifecycle_event("missed", address=OUTLOOK) == 0


async def test_silently_dropped_subscription_says_nothing(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    made = await create(outlook, webhook)
    await providers.control.drop_subscription(made["id"])
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    notifications = await providers.control.list_notifications()
    assert (notifications["waiting"], notifications["items"]) == (0, [])


async def test_notifications_fault_loses_repeats_and_delays(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook)
    control = providers.control
    await control.set_fault("notifications", mailbox=OUTLOOK, mode="off", times=1)
    await control.deliver_mail(build_mail("Lost"), OUTLOOK)
    await control.set_fault("notifications", mailbox=OUTLOOK, mode="duplicated", copies=3, times=1)
    (repeated,) = await control.deliver_mail(build_mail("Repeated"), OUTLOOK)
    await providers.wait_until_settled()
    assert [item["resourceData"]["id"] for item in webhook.list_items()] == [repeated] * 3
    await control.set_fault("notifications", mode="delayed", delay_s=3600, times=1)
    await control.deliver_mail(build_mail("Late"), OUTLOOK)
    assert (await control.list_notifications())["waiting"] == 1
    before = len(webhook.received)
    assert await control.resend_pushes(1) == 1
    await webhook.wait_for_posts(before + 1)
    assert [item["resourceData"]["id"] for item in webhook.list_items()] == [repeated] * 4


async def test_handshake_is_refused_or_slow_by_the_switch(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.set_fault("handshake", mailbox=OUTLOOK, mode="refused", times=1)
    assert (await refused(outlook, webhook)).startswith("Subscription validation request failed.")
    assert webhook.handshakes == []
    await providers.control.set_fault("handshake", mailbox=OUTLOOK, mode="slow", delay_s=0.2, times=1)
    began = time.monotonic()
    await create(outlook, webhook)
    assert time.monotonic() - began >= 0.2
    assert len(webhook.handshakes) == 2


async def test_change_is_announced_before_the_create_is_answered(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.set_fault("early_announcement", mailbox=OUTLOOK, delay_s=0.3, times=1)
    creating = asyncio.create_task(create(outlook, webhook))
    await webhook.wait_for_posts(1)
    assert not creating.done()
    made = await creating
    assert [item["subscriptionId"] for item in webhook.list_items()] == [made["id"]]


async def test_subscription_is_granted_for_less_time_than_was_asked_for(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.set_fault("subscription_limits", mailbox=OUTLOOK, granted_s=90)
    made = await create(outlook, webhook)
    renewed = await outlook.send_request(
        "PATCH", f"/subscriptions/{made['id']}", json={"expirationDateTime": days_from_now(2)}
    )
    for one in (made, renewed.json()):
        left = _time(one["expirationDateTime"]) - datetime.now(UTC)
        assert timedelta(seconds=60) < left <= timedelta(seconds=90)


@pytest.mark.parametrize(("status", "code"), [(403, "ExtensionError"), (503, "serviceNotAvailable")])
async def test_no_subscription_is_to_be_had_and_all_else_is_served(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver, status: int, code: str
) -> None:
    await providers.control.set_fault("watch", mailbox=OUTLOOK, status=status)
    body = await outlook.post_json("/subscriptions", fields(webhook), status=status)
    assert body["error"]["code"] == code
    await outlook.get_json("/me/messages")
    await providers.control.clear_faults("watch")
    await create(outlook, webhook)


async def test_notifications_of_several_mailboxes_share_a_post(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
    made = [await create(person, webhook) for person in (outlook, bob)]
    # A moment that no run of this test reaches before `retry_pushes_now` brings it.
    await providers.control.set_fault("notifications", mode="mixed", delay_s=86_400)
    for address in (OUTLOOK, "bob@company.example"):
        await providers.control.deliver_mail(build_mail(), address)
    assert (await providers.control.list_notifications())["waiting"] == 2
    await providers.control.retry_pushes_now()
    post, *_ = await webhook.wait_for_posts(1)
    assert [item["subscriptionId"] for item in json.loads(post["body"])["value"]] == [one["id"] for one in made]


async def test_a_share_of_notifications_is_dropped(
    providers: RunningProviders, outlook: MailboxUser, webhook: WebhookReceiver
) -> None:
    await create(outlook, webhook)
    await providers.control.set_fault("notifications", mode="off", share=0.5)
    await providers.control.deliver_mail(build_mail(), OUTLOOK, times=40)
    await providers.state.dispatcher.wait_until_idle()
    assert 5 < len(webhook.list_items()) < 35


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
