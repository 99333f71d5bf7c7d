"""Faults of single messages over HTTP: what they name fails, and everything beside it works."""

import json

import httpx
import pytest

from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, MailboxUser, build_mail
from mailroom_sandbox.testkit.running_providers import RunningProviders

PDF = b"%PDF-1.4 sample\n" * 100
DELTA = "/me/mailFolders/inbox/messages/delta"
FILES = [("good.pdf", PDF), ("bad.pdf", PDF + b"2")]


async def find_outlook_parts(outlook: MailboxUser, message_id: str) -> dict[str, str]:
    """The address of each file's bytes."""
    listed = await outlook.get_json(f"/me/messages/{message_id}/attachments?$select=id,name")
    return {one["name"]: f"/me/messages/{message_id}/attachments/{one['id']}/$value" for one in listed["value"]}


async def find_gmail_parts(gmail: MailboxUser, message_id: str) -> dict[str, str]:
    parts = (await gmail.get_json(f"/messages/{message_id}"))["payload"]["parts"]
    return {
        part["filename"]: f"/messages/{message_id}/attachments/{part['body']['attachmentId']}"
        for part in parts
        if part["filename"]
    }


async def list_statuses(user: MailboxUser, *paths: str) -> list[int]:
    return [(await user.send_request("GET", path)).status_code for path in paths]


@pytest.mark.parametrize("status", [404, 500, 504])
async def test_outlook_message_that_fails_spoils_what_holds_it_and_nothing_else(
    providers: RunningProviders, outlook: MailboxUser, status: int
) -> None:
    (bad,) = await providers.control.deliver_mail(build_mail("Bad"), OUTLOOK, folder="Inbox/Below")
    (good,) = await providers.control.deliver_mail(build_mail("Good"), OUTLOOK)
    everywhere = ["message", "list", "delta"]
    await providers.control.set_fault("item_fails", mailbox=OUTLOOK, items=["Bad"], where=everywhere, status=status)
    below = next(one for one in (await outlook.get_json("/me/mailFolders/inbox/childFolders"))["value"])
    holding = (f"/me/messages/{bad}", f"/me/messages/{bad}/attachments", "/me/messages")
    spoilt = (*holding, f"/me/mailFolders/{below['id']}/messages/delta")
    assert await list_statuses(outlook, *spoilt) == [status] * 4
    beside = (f"/me/messages/{good}", "/me/mailFolders/inbox/messages", DELTA)
    assert await list_statuses(outlook, *beside) == [200] * 3


async def test_gmail_message_that_fails_spoils_what_holds_it_and_nothing_else(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    (good,) = await providers.control.deliver_mail(build_mail("Good"), GMAIL)
    middle = (await gmail.get_json("/profile"))["historyId"]
    (bad,) = await providers.control.deliver_mail(build_mail("Bad"), GMAIL)
    where = ["message", "list", "delta"]
    await providers.control.set_fault("item_fails", mailbox=GMAIL, items=bad, where=where, retry_after="2")
    spoilt = (f"/messages/{bad}", "/messages", f"/history?startHistoryId={middle}")
    assert await list_statuses(gmail, *spoilt) == [500] * 3
    beside = (f"/messages/{good}", "/messages?q=subject:good", f"/history?startHistoryId={start}&maxResults=1")
    assert await list_statuses(gmail, *beside) == [200] * 3
    assert (await gmail.send_request("GET", f"/messages/{bad}")).headers["retry-after"] == "2"


@pytest.mark.parametrize("provider", ["outlook", "gmail"])
async def test_one_part_fails_or_breaks_half_way_and_the_others_are_served(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser, provider: str
) -> None:
    address, user = (OUTLOOK, outlook) if provider == "outlook" else (GMAIL, gmail)
    (message_id,) = await providers.control.deliver_mail(build_mail(files=FILES), address)
    find_parts = find_outlook_parts if provider == "outlook" else find_gmail_parts
    paths = await find_parts(user, message_id)
    await providers.control.set_fault("item_fails", mailbox=address, where="part", parts="bad.pdf", status=504)
    assert await list_statuses(user, paths["good.pdf"], paths["bad.pdf"]) == [200, 504]
    await providers.control.set_fault("item_fails", mailbox=address, parts="bad.pdf", where="part", break_after_bytes=9)
    assert await list_statuses(user, paths["good.pdf"]) == [200]
    with pytest.raises(httpx.RemoteProtocolError):
        await user.send_request("GET", paths["bad.pdf"])


async def test_fault_of_an_item_ends_after_its_times_and_counts_only_calls_for_it(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    (bad,) = await providers.control.deliver_mail(build_mail("Bad"), OUTLOOK)
    (good,) = await providers.control.deliver_mail(build_mail("Good"), OUTLOOK)
    await providers.control.set_fault("item_fails", items="Bad", times=1)
    paths = (f"/me/messages/{good}", f"/me/messages/{bad}", f"/me/messages/{bad}")
    assert await list_statuses(outlook, *paths) == [200, 500, 200]


async def test_denied_items_answer_403_while_lists_and_deltas_go_on(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser
) -> None:
    (on_outlook,) = await providers.control.deliver_mail(build_mail(files=FILES), OUTLOOK)
    (on_gmail,) = await providers.control.deliver_mail(build_mail(files=FILES), GMAIL)
    outlook_part = (await find_outlook_parts(outlook, on_outlook))["good.pdf"]
    gmail_part = (await find_gmail_parts(gmail, on_gmail))["good.pdf"]
    await providers.control.set_fault("access_denied")
    denied = await outlook.get_json(f"/me/messages/{on_outlook}", status=403)
    assert denied["error"]["code"] == "ErrorAccessDenied"
    assert await list_statuses(outlook, outlook_part, "/me/messages", DELTA) == [403, 200, 200]
    assert await list_statuses(gmail, f"/messages/{on_gmail}", gmail_part, "/messages") == [403, 403, 200]


async def test_one_protected_item_is_denied_alone(providers: RunningProviders, outlook: MailboxUser) -> None:
    protected, open_to_us = [
        (await providers.control.deliver_mail(build_mail(subject), OUTLOOK))[0] for subject in ("Protected", "Open")
    ]
    await providers.control.set_fault("access_denied", mailbox=OUTLOOK, items=["Protected"])
    assert await list_statuses(outlook, f"/me/messages/{protected}", f"/me/messages/{open_to_us}") == [403, 200]


@pytest.mark.parametrize("is_listed", [True, False])
async def test_outlook_message_that_is_readable_only_later(
    providers: RunningProviders, outlook: MailboxUser, *, is_listed: bool
) -> None:
    (before,) = await providers.control.deliver_mail(build_mail("Before"), OUTLOOK)
    fields = {"items": "Late", "after_s": 3600, "is_listed": is_listed}
    await providers.control.set_fault("message_delayed", mailbox=OUTLOOK, **fields)
    (late,) = await providers.control.deliver_mail(build_mail("Late"), OUTLOOK)
    assert await list_statuses(outlook, f"/me/messages/{before}", f"/me/messages/{late}") == [200, 404]
    for path in ("/me/messages?$top=1", DELTA):
        shown = {item["id"] for item in (await outlook.get_json(path, prefer='IdType="ImmutableId"'))["value"]}
        assert (late in shown) == is_listed
        assert shown  # one that is not shown takes nobody's place on the page
    await providers.control.clear_faults()
    assert await list_statuses(outlook, f"/me/messages/{late}") == [200]


@pytest.mark.parametrize("is_listed", [True, False])
async def test_gmail_message_that_is_readable_only_later(
    providers: RunningProviders, gmail: MailboxUser, *, is_listed: bool
) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    fields = {"items": "Late", "after_s": 3600, "is_listed": is_listed}
    await providers.control.set_fault("message_delayed", mailbox=GMAIL, **fields)
    (late,) = await providers.control.deliver_mail(build_mail("Late"), GMAIL)
    assert await list_statuses(gmail, f"/messages/{late}") == [404]
    history = await gmail.get_json(f"/history?startHistoryId={start}")
    assert ("history" in history, "messages" in await gmail.get_json("/messages")) == (is_listed, is_listed)
    await providers.control.clear_faults()
    assert await list_statuses(gmail, f"/messages/{late}") == [200]
    assert "history" in await gmail.get_json(f"/history?startHistoryId={history['historyId']}") or is_listed


async def test_message_that_is_announced_and_gone_leaves_only_its_traces(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser
) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.set_fault("message_delayed", mode="gone", items="Gone")
    (on_outlook,) = await providers.control.deliver_mail(build_mail("Gone"), OUTLOOK)
    (on_gmail,) = await providers.control.deliver_mail(build_mail("Gone"), GMAIL)
    assert await list_statuses(outlook, f"/me/messages/{on_outlook}") == [404]
    assert await list_statuses(gmail, f"/messages/{on_gmail}") == [404]
    records = (await gmail.get_json(f"/history?startHistoryId={start}"))["history"]
    assert [next(name for name in record if name.startswith("messages") and name != "messages") for record in records]
    assert await providers.control.list_messages(OUTLOOK) == await providers.control.list_messages(GMAIL) == []


@pytest.mark.parametrize("kind", ["lone_surrogate", "bad_utf8", "control", "bom"])
async def test_odd_bytes_stand_behind_the_text_of_whole_answers(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser, kind: str
) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail("Odd"), OUTLOOK)
    (on_gmail,) = await providers.control.deliver_mail(build_mail("Odd"), GMAIL)
    await providers.control.set_fault("odd_bytes", kind=kind, text="Odd")
    for user, path in ((outlook, "/me/messages"), (outlook, DELTA), (gmail, f"/messages/{on_gmail}")):
        answer = await user.send_request("GET", path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("application/json")
        with pytest.raises(ValueError, match=r"surrogates|codec|control|BOM|character"):
            json.dumps(json.loads(answer.content.decode("utf-8")), ensure_ascii=False).encode()
    assert json.loads((await outlook.send_request("GET", f"/me/messages/{message_id}?$select=id")).content)
