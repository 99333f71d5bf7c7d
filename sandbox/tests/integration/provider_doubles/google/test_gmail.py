"""The Gmail API: each answer against the contract, and what is absent rather than empty."""

import asyncio
import base64
import re
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from mailroom_sandbox.testkit import contracts
from mailroom_sandbox.testkit.mailbox_users import GMAIL, READONLY, MailboxUser, build_mail, sign_in_gmail_user
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers

METADATA = "https://www.googleapis.com/auth/gmail.metadata"
PDF = b"%PDF-1.4 sample\n" * 100


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def parts_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [payload, *(inner for part in payload.get("parts", ()) for inner in parts_of(part))]


async def attached(gmail: MailboxUser, message_id: str) -> dict[str, Any]:
    payload = (await gmail.get_json(f"/messages/{message_id}"))["payload"]
    return next(part for part in parts_of(payload) if part["filename"])


async def test_profile_counts_and_names_the_newest_history(providers: RunningProviders, gmail: MailboxUser) -> None:
    before = await gmail.get_json("/profile")
    contracts.check_gmail_body("Profile", before)
    await providers.control.deliver_mail(build_mail(), GMAIL, times=2)
    after = await gmail.get_json("/profile")
    assert (after["messagesTotal"], after["threadsTotal"]) == (2, 2)
    assert int(after["historyId"]) > int(before["historyId"])


async def test_empty_mailbox_has_no_message_list_and_no_history(gmail: MailboxUser) -> None:
    listed = await gmail.get_json("/messages")
    contracts.check_gmail_body("ListMessagesResponse", listed)
    assert listed == {"resultSizeEstimate": 0}
    start = (await gmail.get_json("/profile"))["historyId"]
    assert await gmail.get_json(f"/history?startHistoryId={start}") == {"historyId": start}


async def test_list_is_newest_first_and_pages_to_the_end(providers: RunningProviders, gmail: MailboxUser) -> None:
    ids = [(await providers.control.deliver_mail(build_mail(f"Mail {number}"), GMAIL))[0] for number in range(5)]
    seen: list[str] = []
    path = "/messages?maxResults=2"
    while True:
        page = await gmail.get_json(path)
        contracts.check_gmail_body("ListMessagesResponse", page)
        seen += [item["id"] for item in page["messages"]]
        if "nextPageToken" not in page:
            break
        path = f"/messages?maxResults=2&pageToken={page['nextPageToken']}"
    assert seen == ids[::-1]


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        (f"after:{int(datetime(2026, 6, 1, tzinfo=UTC).timestamp())}", ["New"]),
        (f"before:{int(datetime(2026, 6, 1, tzinfo=UTC).timestamp())}", ["Old"]),
        ("after:2026/06/01", ["New"]),
        ("newer_than:1d", ["New"]),
        ("older_than:30d", ["Old"]),
        ("subject:old", ["Old"]),
        ("-subject:old", ["New"]),
        ("is:unread in:inbox has:attachment", ["New"]),
        ("from:nobody", []),
    ],
)
async def test_search_words(providers: RunningProviders, gmail: MailboxUser, query: str, subjects: list[str]) -> None:
    await providers.control.deliver_mail(build_mail("Old"), GMAIL, received_at=datetime(2026, 1, 1, tzinfo=UTC))
    await providers.control.deliver_mail(build_mail("New", files=[("a.pdf", PDF)]), GMAIL)
    found = []
    for item in (await gmail.get_json(f"/messages?q={query}")).get("messages", []):
        message = await gmail.get_json(f"/messages/{item['id']}?format=metadata&metadataHeaders=Subject")
        found += [header["value"] for header in message["payload"]["headers"]]
    assert found == subjects


async def test_list_leaves_out_spam_and_trash_unless_asked(providers: RunningProviders, gmail: MailboxUser) -> None:
    for folder in ("inbox", "spam", "trash", "archive"):
        await providers.control.deliver_mail(build_mail(folder), GMAIL, folder=folder)
    assert len((await gmail.get_json("/messages"))["messages"]) == 2
    assert len((await gmail.get_json("/messages?includeSpamTrash=true"))["messages"]) == 4
    assert len((await gmail.get_json("/messages?labelIds=SPAM"))["messages"]) == 1
    assert len((await gmail.get_json("/messages?labelIds=INBOX&labelIds=UNREAD"))["messages"]) == 1


async def test_message_in_each_format(providers: RunningProviders, gmail: MailboxUser) -> None:
    source = build_mail("Formats", files=[("a.pdf", PDF)])
    (message_id,) = await providers.control.deliver_mail(source, GMAIL, received_at=datetime(2026, 11, 2, tzinfo=UTC))
    whole = await gmail.get_json(f"/messages/{message_id}")
    contracts.check_gmail_body("Message", whole)
    assert (whole["internalDate"], whole["labelIds"]) == ("1793577600000", ["INBOX", "UNREAD"])
    assert whole["payload"]["partId"] == ""
    assert [part["partId"] for part in whole["payload"]["parts"]] == ["0", "1"]
    minimal = await gmail.get_json(f"/messages/{message_id}?format=minimal")
    contracts.check_gmail_body("Message", minimal)
    assert "payload" not in minimal
    raw = await gmail.get_json(f"/messages/{message_id}?format=raw")
    contracts.check_gmail_body("Message", raw)
    assert decoded(raw["raw"]) == source
    metadata = await gmail.get_json(
        f"/messages/{message_id}?format=metadata&metadataHeaders=subject&metadataHeaders=from"
    )
    contracts.check_gmail_body("Message", metadata)
    assert {header["name"] for header in metadata["payload"]["headers"]} == {"From", "Subject"}
    await gmail.get_json(f"/messages/{message_id}?format=pdf", status=400)
    gone = await gmail.get_json("/messages/0000", status=404)
    assert gone["error"]["status"] == "NOT_FOUND"


async def test_archived_read_message_has_no_labels_at_all(providers: RunningProviders, gmail: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(), GMAIL)
    await providers.control.mark_read(GMAIL, message_id)
    await providers.control.move_message(GMAIL, message_id, "archive")
    assert "labelIds" not in await gmail.get_json(f"/messages/{message_id}")


async def test_a_flag_is_the_star(providers: RunningProviders, gmail: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(), GMAIL)
    for flag, has_star in (("flagged", True), ("complete", False)):
        await providers.control.set_flag(GMAIL, message_id, flag)
        labels = (await gmail.get_json(f"/messages/{message_id}?format=minimal"))["labelIds"]
        assert ("STARRED" in labels) is has_star


async def test_small_bodies_are_in_the_answer_and_large_ones_are_fetched(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    long_text = "word " * 20_000
    (message_id,) = await providers.control.deliver_mail(
        build_mail(body=long_text, files=[("a.pdf", PDF), ("b.pdf", b"%PDF")]), GMAIL
    )
    payload = (await gmail.get_json(f"/messages/{message_id}"))["payload"]
    text, large, small = payload["parts"]
    for part, content in ((text, long_text.encode()), (large, PDF)):
        assert "data" not in part["body"]
        fetched = await gmail.get_json(f"/messages/{message_id}/attachments/{part['body']['attachmentId']}")
        contracts.check_gmail_body("MessagePartBody", fetched)
        assert decoded(fetched["data"]).strip() == content.strip()
        assert fetched["size"] == part["body"]["size"]
    assert decoded(small["body"]["data"]) == b"%PDF"


async def test_mail_nested_deeper_than_most_readers_go_is_served(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    depth = 300
    head, body = "Subject: deep\r\n", "\r\n\r\nat the bottom\r\n"
    for level in range(depth):
        head += f'Content-Type: multipart/mixed; boundary="b{level}"\r\n\r\n--b{level}\r\n'
        body += f"\r\n--b{level}--\r\n"
    (message_id,) = await providers.control.deliver_mail(f"{head}Content-Type: text/plain{body}".encode(), GMAIL)
    answer = await gmail.send_request("GET", f"/messages/{message_id}?format=full")
    assert answer.status_code == 200
    assert answer.text.count('"parts"') >= depth


async def test_padding_is_sometimes_missing(providers: RunningProviders, gmail: MailboxUser) -> None:
    endings = set()
    for size in (1000, 1001, 1002):
        (message_id,) = await providers.control.deliver_mail(build_mail(files=[("a.pdf", b"x" * size)]), GMAIL)
        part = await attached(gmail, message_id)
        fetched = await gmail.get_json(f"/messages/{message_id}/attachments/{part['body']['attachmentId']}")
        assert decoded(fetched["data"]) == b"x" * size
        endings.add((len(fetched["data"]) % 4 != 0, fetched["data"].endswith("=")))
    assert {(True, False), (False, True)} <= endings


async def test_attachment_id_is_new_each_time_and_works_for_a_while(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(files=[("a.pdf", PDF)]), GMAIL)
    issued = [(await attached(gmail, message_id))["body"]["attachmentId"] for _ in range(12)]
    assert len(set(issued)) == 12
    await gmail.get_json(f"/messages/{message_id}/attachments/{issued[-5]}")
    await gmail.get_json(f"/messages/{message_id}/attachments/{issued[0]}", status=400)
    await gmail.get_json(f"/messages/{message_id}/attachments/guess", status=400)
    (other,) = await providers.control.deliver_mail(build_mail(), GMAIL)
    await gmail.get_json(f"/messages/{other}/attachments/{issued[-1]}", status=400)


async def test_history_tells_each_kind_of_change(providers: RunningProviders, gmail: MailboxUser) -> None:
    control = providers.control
    start = (await gmail.get_json("/profile"))["historyId"]
    (message_id,) = await control.deliver_mail(build_mail(), GMAIL)
    await control.mark_read(GMAIL, message_id)
    await control.move_message(GMAIL, message_id, "trash")
    await control.delete_message(GMAIL, message_id)
    page = await gmail.get_json(f"/history?startHistoryId={start}")
    contracts.check_gmail_body("ListHistoryResponse", page)
    kinds = [next(name for name in record if name not in ("id", "messages")) for record in page["history"]]
    assert kinds == ["messagesAdded", "labelsRemoved", "labelsRemoved", "labelsAdded", "messagesDeleted"]
    assert page["history"][3]["labelsAdded"][0]["labelIds"] == ["TRASH"]
    assert page["historyId"] == page["history"][-1]["id"]
    ids = [int(record["id"]) for record in page["history"]]
    assert ids == sorted(set(ids))
    await gmail.get_json(f"/messages/{message_id}", status=404)


async def test_history_is_filtered_by_type_and_label_and_may_have_empty_pages(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.deliver_mail(build_mail("One"), GMAIL, folder="archive")
    (inbox,) = await providers.control.deliver_mail(build_mail("Two"), GMAIL)
    await providers.control.mark_read(GMAIL, inbox)
    page = await gmail.get_json(f"/history?startHistoryId={start}&labelId=INBOX&historyTypes=messageAdded&maxResults=1")
    assert "history" not in page
    seen = []
    while "nextPageToken" in page:
        page = await gmail.get_json(
            f"/history?startHistoryId={start}&labelId=INBOX&historyTypes=messageAdded&maxResults=1"
            f"&pageToken={page['nextPageToken']}"
        )
        seen += page.get("history", [])
    assert [record["messagesAdded"][0]["message"]["id"] for record in seen] == [inbox]
    await gmail.get_json(f"/history?startHistoryId={start}&historyTypes=moved", status=400)
    await gmail.get_json("/history", status=400)


async def test_history_that_is_too_old_is_not_found(providers: RunningProviders, gmail: MailboxUser) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.refuse_cursors(GMAIL)
    gone = await gmail.get_json(f"/history?startHistoryId={start}", status=404)
    missing = await gmail.get_json("/messages/none", status=404)
    assert gone == missing
    fresh = (await gmail.get_json("/profile"))["historyId"]
    await gmail.get_json(f"/history?startHistoryId={fresh}")


async def test_cursor_fault_refuses_the_start_once(providers: RunningProviders, gmail: MailboxUser) -> None:
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.set_fault("cursor_refused", mailbox=GMAIL)
    statuses = [(await gmail.send_request("GET", f"/history?startHistoryId={start}")).status_code for _ in range(2)]
    assert statuses == [404, 200]


async def test_lagging_history_loses_nothing(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.set_fault("delta_lag", mailbox=GMAIL, lag_s=3600)
    start = (await gmail.get_json("/profile"))["historyId"]
    (message_id,) = await providers.control.deliver_mail(build_mail(), GMAIL)
    assert (await gmail.get_json("/profile"))["historyId"] == start
    assert await gmail.get_json(f"/history?startHistoryId={start}") == {"historyId": start}
    assert (await gmail.get_json("/messages"))["messages"][0]["id"] == message_id
    await providers.control.clear_faults()
    assert "history" in await gmail.get_json(f"/history?startHistoryId={start}")


async def test_metadata_scope_sees_headers_and_labels_only(providers: RunningProviders) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(files=[("a.pdf", PDF)]), GMAIL)
    for scope in (METADATA, f"{METADATA} {READONLY}"):
        person = await sign_in_gmail_user(providers, scope=scope)
        metadata = await person.get_json(f"/messages/{message_id}?format=metadata")
        assert metadata["snippet"] == ""
        assert (await person.get_json("/messages"))["messages"]
        for path in ("/messages?q=invoice", f"/messages/{message_id}", f"/messages/{message_id}?format=raw"):
            assert (await person.get_json(path, status=403))["error"]["code"] == 403
        await person.get_json(f"/messages/{message_id}/attachments/any", status=403)


async def test_only_the_tokens_own_mailbox_opens(providers: RunningProviders, gmail: MailboxUser) -> None:
    url = f"{providers.at.gmail_url}/gmail/v1/users"
    assert (await gmail.get_json(f"{url}/{GMAIL}/profile"))["emailAddress"] == GMAIL
    await gmail.get_json(f"{url}/other@mail.example/profile", status=403)
    bare = await providers.http.get(f"{url}/me/profile")
    assert (bare.status_code, bare.json()["error"]["status"]) == (401, "UNAUTHENTICATED")


async def test_account_without_gmail_says_so(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.disable_mailbox(GMAIL, "gone")
    refused = await gmail.get_json("/profile", status=400)
    assert refused["error"]["errors"][0]["reason"] == "failedPrecondition"


async def test_reply_joins_the_thread_of_what_it_answers(providers: RunningProviders, gmail: MailboxUser) -> None:
    (first,) = await providers.control.deliver_mail(build_mail("Question"), GMAIL)
    known = re.search(rb"Message-ID: (<[^>]+>)", build_mail("Question"))
    assert known
    answer = b"References: " + known[1] + b"\r\nSubject: Re: Question\r\n\r\nYes."
    (second,) = await providers.control.deliver_mail(answer, GMAIL)
    threads = {(await gmail.get_json(f"/messages/{one}"))["threadId"] for one in (first, second)}
    assert len(threads) == 1
    assert (await gmail.get_json("/profile"))["threadsTotal"] == 1


async def test_labels_name_the_mailboxes_own(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.deliver_mail(build_mail(), GMAIL, folder="Bills")
    labels = (await gmail.get_json("/labels"))["labels"]
    assert {"id": "INBOX", "name": "INBOX", "type": "system"} in labels
    assert {"id": "Label_1", "name": "Bills", "type": "user"} in labels


async def test_removed_label_leaves_its_messages_and_is_never_confused_with_a_later_one(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    first = await providers.control.find_or_create_folder(GMAIL, "Bills")
    assert await providers.control.find_or_create_folder(GMAIL, "Bills") == first
    second = await providers.control.find_or_create_folder(GMAIL, "Receipts")
    (message_id,) = await providers.control.deliver_mail(build_mail(), GMAIL, folder="Bills")
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.remove_folder(GMAIL, "Bills")
    (record,) = (await gmail.get_json(f"/history?startHistoryId={start}"))["history"]
    assert record["labelsRemoved"][0]["labelIds"] == [first]
    assert (await gmail.get_json(f"/messages/{message_id}"))["labelIds"] == ["UNREAD"]
    listed = (await gmail.get_json("/labels"))["labels"]
    contracts.check_gmail_body("ListLabelsResponse", {"labels": listed})
    assert [label["id"] for label in listed if label["type"] == "user"] == [second]
    assert await providers.control.find_or_create_folder(GMAIL, "Bills again") not in (first, second)


def batch_of(paths: list[str]) -> str:
    calls = [
        f"--part\r\nContent-Type: application/http\r\nContent-ID: <call-{index}>\r\n\r\nGET {path} HTTP/1.1\r\n\r\n\r\n"
        for index, path in enumerate(paths)
    ]
    return "".join(calls) + "--part--"


async def send_batch(providers: RunningProviders, person: MailboxUser, path: str, paths: list[str]) -> tuple[int, str]:
    answer = await person.send_request(
        "POST",
        f"{providers.at.gmail_url}{path}",
        content=batch_of(paths),
        headers={"content-type": 'multipart/mixed; boundary="part"'},
    )
    return answer.status_code, answer.text


@pytest.mark.parametrize("path", ["/batch", "/batch/gmail/v1"])
async def test_batch_answers_each_call(providers: RunningProviders, gmail: MailboxUser, path: str) -> None:
    paths = [
        "/gmail/v1/users/me/profile",
        "/gmail/v1/users/me/messages/none",
        "/gmail/v1/users/me/messages?maxResults=1",
    ]
    status, text = await send_batch(providers, gmail, path, paths)
    assert status == 200
    assert re.findall(r"HTTP/1.1 (\d+)", text) == ["200", "404", "200"]
    assert re.findall(r"Content-ID: <(.*?)>", text) == ["response-call-0", "response-call-1", "response-call-2"]


async def test_large_batch_meets_the_limit_of_calls_at_once(providers: RunningProviders, gmail: MailboxUser) -> None:
    _, text = await send_batch(providers, gmail, "/batch", ["/gmail/v1/users/me/profile"] * 40)
    statuses = re.findall(r"HTTP/1.1 (\d+)", text)
    assert (statuses.count("200"), statuses.count("429")) == (16, 24)
    status, _ = await send_batch(providers, gmail, "/batch", ["/gmail/v1/users/me/profile"] * 101)
    assert status == 400
    assert (await send_batch(providers, gmail, "/batch", []))[0] == 400


async def test_too_many_calls_at_once_are_refused(folder: Path) -> None:
    async with running_providers(folder, latency_ms=1500, concurrent_calls_per_mailbox=1) as providers:
        await providers.control.find_or_create_mailbox("gmail", GMAIL)
        person = await sign_in_gmail_user(providers)
        answers = await asyncio.gather(*(person.send_request("GET", "/profile") for _ in range(5)))
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) == 1
        assert refused[0].json()["error"]["errors"][0]["reason"] == "rateLimitExceeded"


async def test_history_replays_repeats_and_has_empty_pages(providers: RunningProviders, gmail: MailboxUser) -> None:
    first, second = [(await providers.control.deliver_mail(build_mail(name), GMAIL))[0] for name in ("One", "Two")]
    start = (await gmail.get_json("/profile"))["historyId"]
    await providers.control.set_fault("delta_shape", replayed_changes=2, repeat_items=True, empty_pages=1)
    shown: list[str] = []
    path = f"/history?startHistoryId={start}"
    for _ in range(2):
        page = await gmail.get_json(path)
        contracts.check_gmail_body("ListHistoryResponse", page)
        shown += [record["messages"][0]["id"] for record in page.get("history", ())]
        assert "nextPageToken" in page or shown
        path = f"/history?startHistoryId={start}&pageToken={page.get('nextPageToken')}"
    assert shown == [first, first, second, second]


@pytest.mark.parametrize("shape", ["429_rateLimitExceeded", "403_userRateLimitExceeded", "403_dailyLimitExceeded"])
async def test_quota_is_refused_in_each_shape(providers: RunningProviders, gmail: MailboxUser, shape: str) -> None:
    await providers.control.set_fault("gmail_quota", mailbox=GMAIL, shape=shape, times=1)
    status, _, reason = shape.partition("_")
    refusal = await gmail.get_json("/profile", status=int(status))
    error = refusal["error"]
    assert (error["errors"][0]["domain"], error["errors"][0]["reason"]) == ("usageLimits", reason)
    assert error["status"] == "RESOURCE_EXHAUSTED"
    await gmail.get_json("/profile")


async def test_nested_mail_is_shown_by_its_parts_alone(providers: RunningProviders, gmail: MailboxUser) -> None:
    outer = EmailMessage()
    outer.set_content("See below.")
    outer.add_attachment(message_from_bytes(build_mail(files=[("a.pdf", PDF)]), policy=policy.default))
    (message_id,) = await providers.control.deliver_mail(outer.as_bytes(), GMAIL)
    for is_hidden in (False, True):
        if is_hidden:
            await providers.control.set_fault("nested_mail", mailbox=GMAIL)
        shown = (await gmail.get_json(f"/messages/{message_id}"))["payload"]
        contracts.check_gmail_body("MessagePart", shown)
        (nested,) = [part for part in parts_of(shown) if part["mimeType"] == "message/rfc822"]
        assert ("attachmentId" in nested["body"]) is not is_hidden
        assert [part["filename"] for part in parts_of(nested) if part["filename"]] == ["a.pdf"]
