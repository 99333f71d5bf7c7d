import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import CursorRefused, ItemGone, ProviderUnavailable, Throttled
from mailroom_common.events import Profile
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import ChangeKind, ChangePage, Folder, Mailbox, Part, PartKind
from mailroom_gmail.mail import GmailMail

BASE = "https://gmail.example"
START_AT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def google(http: httpx.AsyncClient, tokens: Any) -> GmailMail:
    return GmailMail(http, BaseURL(BASE), tokens, Quota(slots=8, mailbox_limit=UnitLimit(6000)))


async def history(
    google: GmailMail, mailbox: Mailbox, position: str | None = "100", page_token: str | None = None
) -> ChangePage:
    return await google.list_changes(mailbox, "history", START_AT, position=position, page_token=page_token)


async def relist(google: GmailMail, mailbox: Mailbox, page_token: str | None = None) -> ChangePage:
    return await google.list_changes(mailbox, "relist", START_AT, position=None, page_token=page_token)


def ok(payload: dict[str, object]) -> httpx.Response:
    return httpx.Response(200, json=payload)


async def test_position_is_taken_before_the_relist_begins(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    wire.plays(ok({"emailAddress": "ap@example.org", "historyId": "9007199254740993"}))
    assert await history(google, gmail, None) == ChangePage((), position="9007199254740993", needs_relist=True)
    assert wire.requests[0].url.path == "/gmail/v1/users/me/profile"


async def test_history_is_asked_for_all_types_without_a_label_and_ends_where_no_token_is(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    wire.plays(
        ok(
            {
                "history": [
                    {
                        "id": "101",
                        "messages": [{"id": "ignored", "threadId": "t"}],
                        "messagesAdded": [{"message": {"id": "a", "threadId": "t", "labelIds": ["INBOX", "UNREAD"]}}],
                    },
                    {"id": "102", "messagesAdded": [{"message": {"id": "b", "threadId": "t"}}]},
                    {"id": "103", "labelsAdded": [{"message": {"id": "a", "labelIds": ["INBOX"]}, "labelIds": ["X"]}]},
                ],
                "nextPageToken": "p2",
                "historyId": "110",
            }
        ),
        ok({"nextPageToken": "p3", "historyId": "110"}),
        ok({"history": [{"id": "105", "messagesDeleted": [{"message": {"id": "b"}}]}], "historyId": "110"}),
    )
    first = await history(google, gmail)
    assert [(change.kind, change.message_id) for change in first.changes] == [
        (ChangeKind.PRESENT, "b"),
        (ChangeKind.PRESENT, "a"),
    ]
    assert first.changes[0].summary is None
    assert first.changes[1].summary is not None
    assert first.changes[1].summary.labels == {"INBOX"}
    empty = await history(google, gmail, page_token=first.page_token)
    assert (empty.changes, empty.page_token, empty.position) == ((), "p3", None)
    last = await history(google, gmail, page_token=empty.page_token)
    assert (last.page_token, last.position) == (None, "110")
    assert [(change.kind, change.message_id) for change in last.changes] == [(ChangeKind.REMOVED, "b")]
    assert dict(wire.requests[1].url.params) == {"startHistoryId": "100", "maxResults": "500", "pageToken": "p2"}


async def test_message_added_and_deleted_in_one_page_is_removed(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    records = [
        {"id": "101", "messagesAdded": [{"message": {"id": "a", "labelIds": ["INBOX"]}}]},
        {"id": "102", "messagesDeleted": [{"message": {"id": "a", "labelIds": ["INBOX"]}}]},
    ]
    wire.plays(ok({"history": records, "historyId": 111}))
    page = await history(google, gmail)
    assert [(change.kind, change.revision) for change in page.changes] == [(ChangeKind.REMOVED, "102")]
    assert page.position == "111"


async def test_history_too_old_is_a_refused_cursor(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    wire.plays(httpx.Response(404, json={"error": {"code": 404, "errors": [{"reason": "notFound"}]}}))
    with pytest.raises(CursorRefused):
        await history(google, gmail)


async def test_relist_asks_in_epoch_seconds_and_ends_done(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    wire.plays(ok({"messages": [{"id": "a", "threadId": "t"}], "nextPageToken": "p2"}), ok({"resultSizeEstimate": 0}))
    first = await relist(google, gmail)
    assert ([change.message_id for change in first.changes], first.page_token) == (["a"], "p2")
    last = await relist(google, gmail, first.page_token)
    assert (last.changes, last.position) == ((), "done")
    query = wire.requests[0].url.params
    assert query["q"] == f"after:{int(START_AT.timestamp()) - 1}"
    assert query["includeSpamTrash"] == "false"


async def test_observed_mailbox_is_relisted_without_q_and_of_what_is_older_by_ids_alone(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    def at(moment: datetime) -> httpx.Response:
        return ok({"id": "x", "internalDate": str(int(moment.timestamp() * 1000))})

    observed = replace(gmail, profile=Profile.OBSERVATION)
    wire.plays(
        ok({"messages": [{"id": "a"}, {"id": "b"}], "nextPageToken": "p2"}),
        httpx.Response(404, json={"error": {"code": 404}}),
        at(datetime(2026, 11, 2, tzinfo=UTC)),
        ok({"messages": [{"id": "c"}, {"id": "d"}], "nextPageToken": "p3"}),
        at(datetime(2026, 10, 1, tzinfo=UTC)),
        ok({"messages": [{"id": "e"}], "nextPageToken": "p4"}),
        ok({"messages": [{"id": "f"}]}),
    )
    first = await relist(google, observed)
    assert first.page_token == "p2"
    second = await relist(google, observed, first.page_token)
    third = await relist(google, observed, second.page_token)
    last = await relist(google, observed, third.page_token)
    assert [change.received_before for page in (first, second) for change in page.changes] == [None] * 4
    assert [change.received_before for page in (third, last) for change in page.changes] == [START_AT] * 2
    assert (last.page_token, last.position) == (None, "done")
    assert [request.url.params.get("pageToken") for request in wire.requests][3::2] == ["p2", "p3"]
    assert wire.requests[-1].url.params["pageToken"] == "p4"
    assert all("q" not in request.url.params for request in wire.requests)
    assert wire.requests[0].url.params["includeSpamTrash"] == "true"
    assert [request.url.path.rsplit("/", 1)[-1] for request in wire.requests] == [
        *("messages", "b", "a"),
        *("messages", "d"),
        *("messages", "messages"),
    ]


def b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def header(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def part(part_id: str, mime: str, filename: str = "", *headers: dict[str, str], **body: object) -> dict[str, object]:
    return {"partId": part_id, "mimeType": mime, "filename": filename, "headers": list(headers), "body": body}


def multi(part_id: str, mime: str, *parts: dict[str, object]) -> dict[str, object]:
    return {
        "partId": part_id,
        "mimeType": mime,
        "filename": "",
        "headers": [],
        "body": {"size": 0},
        "parts": list(parts),
    }


def message(payload: dict[str, object], **more: object) -> dict[str, object]:
    headers = [
        header("SUBJECT", "=?utf-8?q?Rechnung_=E2=82=AC?="),
        header("From", '"Doe, Jane" <jane@acme.example>'),
        header("Message-Id", "<m1@acme.example>"),
        header("List-Id", "<news>"),
        header("Received", "from somewhere"),
    ]
    return {
        "id": "m1",
        "threadId": "t1",
        "labelIds": ["INBOX", "UNREAD"],
        "historyId": "77",
        "internalDate": "1764288000123",
        "payload": {**payload, "headers": headers},
        **more,
    }


async def test_message_is_read_with_its_parts_in_one_call(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    wire.plays(
        ok(
            message(
                multi(
                    "",
                    "multipart/mixed",
                    multi(
                        "0",
                        "multipart/related",
                        part("0.0", "text/html", data=b64("<table>é".encode()), size=9),
                        part("0.1", "image/png", "", header("content-id", "<logo>"), attachmentId="A1", size=5),
                    ),
                    part(
                        "1", "application/pdf", "x/../r.pdf", header("Content-Disposition", "inline"), attachmentId="A2"
                    ),
                    part("2", "text/plain", "notes.txt", data=b64(b"hi"), size=2),
                    part("3", "text/plain", "", header("Content-Disposition", 'ATTACHMENT; x="y"'), size=0),
                    multi("4", "message/rfc822", part("4.0", "application/pdf", "inner.pdf", attachmentId="A4")),
                    part("5", "application/octet-stream", "", attachmentId="A5"),
                    part("6", "message/delivery-status", "", data=b64(b"x")),
                ),
            )
        )
    )
    found = await google.fetch_message(gmail, "m1")
    assert [(p.part_path, p.kind, p.filename, p.is_inline, p.handle) for p in found.parts] == [
        ("0.1", PartKind.FILE, None, True, "A1"),
        ("1", PartKind.FILE, "x/../r.pdf", True, "A2"),
        ("2", PartKind.FILE, "notes.txt", False, b"hi"),
        ("3", PartKind.FILE, None, False, b""),
        ("4", PartKind.MESSAGE, None, False, None),
        ("5", PartKind.FILE, None, False, "A5"),
    ]
    assert [p.part_path for p in found.parts if p.is_within_source] == ["4"]
    summary = found.summary
    assert (summary.subject, summary.sender_address, summary.sender_name) == (
        "Rechnung €",
        "jane@acme.example",
        "Doe, Jane",
    )
    assert (summary.internet_message_id, summary.version, summary.has_attachments) == ("<m1@acme.example>", "77", True)
    assert summary.received_at == datetime.fromtimestamp(1764288000.123, UTC)
    assert summary.headers == {"list-id": "<news>"}
    assert found.html_body == "<table>é"
    assert len(wire.requests) == 1


async def test_of_many_large_html_bodies_ten_are_fetched(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    texts = [part(f"{number}", "text/html", attachmentId=f"B{number}", size=3) for number in range(30)]
    wire.plays(ok(message(multi("", "multipart/mixed", *texts))), *[ok({"size": 1, "data": b64(b"a")})] * 30)
    assert (await google.fetch_message(gmail, "m1", with_body=True)).html_body == "\n".join("a" * 10)
    assert len(wire.requests) == 11


async def test_large_html_body_is_fetched_from_where_it_is_kept_when_asked_for(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    payload = multi("", "multipart/alternative", part("0", "text/html", attachmentId="B1", size=3))
    wire.plays(ok(message(payload)), ok(message(payload)), ok({"size": 7, "data": b64(b"<table>")}))
    assert (await google.fetch_message(gmail, "m1")).html_body is None
    found = await google.fetch_message(gmail, "m1", with_body=True)
    assert (found.html_body, found.parts) == ("<table>", ())


async def test_text_that_is_no_utf8_is_read_by_its_charset(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    typed = header("content-TYPE", 'text/html; charset="iso-8859-1"')
    wire.plays(ok(message(multi("", "multipart/mixed", part("0", "text/html", "", typed, data=b64(b"caf\xe9"))))))
    assert (await google.fetch_message(gmail, "m1", with_body=True)).html_body == "café"


async def test_observed_mailbox_is_asked_for_headers_only(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    wire.plays(ok(message({"mimeType": "multipart/mixed"})))
    found = await google.fetch_message(replace(gmail, profile=Profile.OBSERVATION), "m1", with_body=True)
    assert (found.parts, found.html_body, found.summary.has_attachments) == ((), None, None)
    query = wire.requests[0].url.params
    assert query["format"] == "metadata"
    assert "List-Unsubscribe".lower() in [name.lower() for name in query.get_list("metadataHeaders")]


async def test_attached_mail_without_bytes_of_its_own_is_within_the_source_of_the_mail(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    wire.plays(ok({"id": "m1", "raw": b64(b"Subject: a\r\n\r\ntext")}))
    within = Part(part_path="1", kind=PartKind.MESSAGE, filename=None, content_type=None, is_within_source=True)
    async with google.open_part(gmail, "m1", within) as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"Subject: a\r\n\r\ntext"
    assert [request.url.params["format"] for request in wire.requests] == ["raw"]


async def read(google: GmailMail, mailbox: Mailbox, handle: str | bytes | None, part_path: str = "1") -> bytes:
    opened = Part(part_path=part_path, kind=PartKind.FILE, filename="a.pdf", content_type=None, handle=handle)
    async with google.open_part(mailbox, "m1", opened) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def test_small_part_costs_no_further_call(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    assert await read(google, gmail, b"hi") == b"hi"
    assert wire.requests == []


async def test_part_kept_apart_is_decoded_from_base64url_without_padding(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    wire.plays(ok({"size": 4, "data": b64(b"\xfb\xff%P")}))
    assert await read(google, gmail, "A/1=") == b"\xfb\xff%P"
    assert wire.requests[0].url.raw_path == b"/gmail/v1/users/me/messages/m1/attachments/A%2F1%3D"


@pytest.mark.parametrize("status", [400, 404])
async def test_stale_handle_is_fetched_again_by_its_part(
    google: GmailMail, wire: Any, gmail: Mailbox, status: int
) -> None:
    stale = httpx.Response(status, json={"error": {"code": status, "errors": [{"reason": "invalidArgument"}]}})
    fresh = multi("", "multipart/mixed", part("1", "application/pdf", "a.pdf", attachmentId="NEW"))
    wire.plays(stale, ok(message(fresh)), ok({"data": b64(b"pdf")}))
    assert await read(google, gmail, "OLD") == b"pdf"
    assert wire.requests[2].url.path.endswith("/NEW")


async def test_part_of_a_deleted_message_is_gone(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    gone = httpx.Response(404, json={"error": {"code": 404, "status": "NOT_FOUND"}})
    wire.plays(gone, gone)
    with pytest.raises(ItemGone):
        await read(google, gmail, "OLD")


async def test_rate_limit_as_403_pauses_the_mailbox(google: GmailMail, wire: Any, gmail: Mailbox) -> None:
    limited = {"error": {"code": 403, "errors": [{"domain": "usageLimits", "reason": "userRateLimitExceeded"}]}}
    wire.plays(httpx.Response(403, headers={"Retry-After": "30"}, json=limited))
    for _ in range(2):
        with pytest.raises(Throttled):
            await history(google, gmail)
    assert len(wire.requests) == 1


async def test_answer_without_what_it_must_have_is_the_providers_trouble(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    wire.plays(ok({"emailAddress": "ap@example.org"}), ok({"history": [{"messagesAdded": [{"message": {}}]}]}))
    for position in (None, "1"):
        with pytest.raises(ProviderUnavailable):
            await history(google, gmail, position)


async def test_labels_are_the_folders_of_the_mailbox_whoever_made_them(
    google: GmailMail, wire: Any, gmail: Mailbox
) -> None:
    labels = [
        {"id": "INBOX", "name": "INBOX", "type": "system"},
        {"id": "Label_7", "name": "Suppliers/Invoices", "type": "user"},
        {"id": "Label_8"},
    ]
    wire.plays(ok({"labels": labels}), ok({}))
    assert await google.list_folders(gmail) == [
        Folder("INBOX", "INBOX", "INBOX"),
        Folder("Label_7", "Suppliers/Invoices"),
        Folder("Label_8", "Label_8"),
    ]
    assert wire.requests[0].url.path == "/gmail/v1/users/me/labels"
    assert await google.list_folders(gmail) == []
