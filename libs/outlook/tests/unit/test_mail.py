import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from mailroom_common.budgets.waiting import limit_waiting
from mailroom_common.errors import (
    AccessDenied,
    CursorRefused,
    ItemGone,
    PageTokenRefused,
    ProviderUnavailable,
    Rejected,
    Throttled,
)
from mailroom_common.events import Profile
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import ChangeKind, Mailbox, MessageSummary, Part, PartKind
from mailroom_outlook.mail import GraphMail

BASE = "https://graph.example/v1.0"
START_AT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def graph(http: httpx.AsyncClient, tokens: Any) -> GraphMail:
    return GraphMail(http, BaseURL(BASE), tokens, Quota(slots=4))


def item(number: int, at: str = "2026-11-28T10:00:00Z", **more: object) -> dict[str, object]:
    return {
        "@odata.etag": f'W/"{number}"',
        "id": f"AAMk{number}=",
        "receivedDateTime": at,
        "lastModifiedDateTime": at,
        "subject": f"Invoice {number}",
        "from": {"emailAddress": {"name": "Billing", "address": "billing@acme.example"}},
        "parentFolderId": "inbox-id",
        "hasAttachments": True,
        "changeKey": f"ck{number}",
        "internetMessageHeaders": [{"name": "List-Unsubscribe", "value": "<x>"}, {"name": "Received", "value": "y"}],
        **more,
    }


def page(*items: dict[str, object], **links: str) -> httpx.Response:
    return httpx.Response(200, json={"value": list(items), **{f"@odata.{name}": link for name, link in links.items()}})


NO_FILES: dict[str, Any] = {"hasAttachments": False}


async def changes(
    graph: GraphMail, mailbox: Mailbox, position: str | None = None, page_token: str | None = None
) -> Any:
    return await graph.list_changes(mailbox, "inbox-id", START_AT, position=position, page_token=page_token)


@pytest.mark.parametrize(
    ("written", "subject"),
    [
        pytest.param(rb"Rechnung \ud83d", "Rechnung \N{REPLACEMENT CHARACTER}", id="half a surrogate pair"),
        pytest.param(b"Rechnung \xff", "Rechnung \N{REPLACEMENT CHARACTER}", id="no UTF-8"),
        pytest.param(b"Rechnung \x0b", "Rechnung \x0b", id="control character"),
        pytest.param(rb"Rechnung \u0000", "Rechnung \N{REPLACEMENT CHARACTER}", id="nul"),
    ],
)
async def test_an_odd_character_in_one_subject_costs_the_page_nothing(
    graph: GraphMail, wire: Any, outlook: Mailbox, written: bytes, subject: str
) -> None:
    body = page(item(0), item(1, subject="odd"), item(2), deltaLink=f"{BASE}/delta?$deltatoken=b").content
    wire.plays(httpx.Response(200, content=b"\xef\xbb\xbf" + body.replace(b"odd", written)))
    answer = await changes(graph, outlook)
    assert [change.summary.subject for change in answer.changes] == ["Invoice 0", subject, "Invoice 2"]
    assert answer.position == "/delta?$deltatoken=b"


async def test_every_call_asks_for_immutable_ids_and_each_delta_page_for_its_size(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(
        page(nextLink=f"{BASE}/next?$skiptoken=a"),
        page(deltaLink=f"{BASE}/delta?$deltatoken=b"),
        page(item(1)),
        httpx.Response(200, json=item(1)),
        page(),
    )
    first = await changes(graph, outlook)
    await changes(graph, outlook, page_token=first.page_token)
    await graph.list_modified(outlook, START_AT)
    await graph.fetch_message(outlook, "AAMk1=", with_parts=True)
    assert all('IdType="ImmutableId"' in request.headers["Prefer"] for request in wire.requests)
    assert all("odata.maxpagesize=100" in request.headers["Prefer"] for request in wire.requests[:2])
    assert [request.headers["Authorization"] for request in wire.requests] == ["Bearer token-1"] * 5


async def test_round_goes_from_page_token_to_position_and_links_are_used_as_they_are(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    link = "/users('u%40x')/mailFolders('f')/messages/delta?$skiptoken=A%2Fb_-=="
    removed: dict[str, object] = {
        "@odata.type": "#microsoft.graph.message",
        "id": "gone",
        "@removed": {"reason": "deleted"},
    }
    wire.plays(
        page(item(1), removed, nextLink=f"{BASE}{link}"),
        page(nextLink=f"{BASE}/empty?$skiptoken=2"),
        page(deltaLink=f"{BASE}/d?$deltatoken=3"),
    )
    first = await changes(graph, outlook)
    second = await changes(graph, outlook, position="/old", page_token=first.page_token)
    last = await changes(graph, outlook, position="/old", page_token=second.page_token)
    assert [(change.kind, change.message_id) for change in first.changes] == [
        (ChangeKind.PRESENT, "AAMk1="),
        (ChangeKind.REMOVED, "gone"),
    ]
    assert (first.page_token, first.position, first.needs_relist) == (link, None, False)
    assert (last.page_token, last.position) == (None, "/d?$deltatoken=3")
    assert wire.requests[1].url.raw_path.decode() == f"/v1.0{link}"
    first_query = wire.requests[0].url.query.decode()
    assert first_query.startswith("$select=id,receivedDateTime")
    assert "$filter" not in first_query


@pytest.mark.parametrize("name", ["nextLink", "deltaLink"])
async def test_link_to_another_host_is_not_followed_and_never_sees_the_token(
    graph: GraphMail, wire: Any, outlook: Mailbox, name: str
) -> None:
    wire.plays(page(item(1), **{name: "https://evil.example/v1.0/next"}))
    with pytest.raises(ProviderUnavailable):
        await changes(graph, outlook)
    assert [request.url.host for request in wire.requests] == ["graph.example"]


async def test_redirect_is_not_followed(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(302, headers={"Location": "https://evil.example/"}))
    with pytest.raises(ProviderUnavailable, match="redirects"):
        await changes(graph, outlook)
    assert len(wire.requests) == 1


async def test_refused_links_are_told_apart(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    gone = httpx.Response(410, json={"error": {"code": "SyncStateNotFound", "message": "generation=149"}})
    wire.plays(gone, gone)
    with pytest.raises(CursorRefused):
        await changes(graph, outlook, position="/d?$deltatoken=1")
    with pytest.raises(PageTokenRefused):
        await changes(graph, outlook, position="/d?$deltatoken=1", page_token="/n?$skiptoken=1")


async def test_updated_item_with_only_its_changed_members_leaves_the_rest_unknown(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(page({"id": "AAMk1=", "isRead": True}, deltaLink=f"{BASE}/d"))
    (change,) = (await changes(graph, outlook)).changes
    assert change.summary == MessageSummary(message_id="AAMk1=", is_read=True)


async def test_rejected_token_is_renewed_once_and_the_call_repeated(
    graph: GraphMail, wire: Any, tokens: Any, outlook: Mailbox
) -> None:
    refused = httpx.Response(401, json={"error": {"code": "InvalidAuthenticationToken"}})
    wire.plays(refused, page(deltaLink=f"{BASE}/d"))
    await changes(graph, outlook)
    assert tokens.rejected == ["token-1"]
    assert [request.headers["Authorization"] for request in wire.requests] == ["Bearer token-1", "Bearer token-2"]


async def test_fresh_token_that_is_rejected_too_is_access_denied(
    graph: GraphMail, wire: Any, tokens: Any, outlook: Mailbox
) -> None:
    refused = httpx.Response(401, json={"error": {"code": "InvalidAuthenticationToken"}})
    wire.plays(refused, refused)
    with pytest.raises(AccessDenied):
        await changes(graph, outlook)
    assert tokens.rejected == ["token-1"]


async def test_retry_after_keeps_the_next_call_from_being_made(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(429, headers={"Retry-After": "2.128"}, json={"error": {"code": "TooManyRequests"}}))
    with limit_waiting(0):
        with pytest.raises(Throttled) as first:
            await changes(graph, outlook)
        with pytest.raises(Throttled) as second:
            await changes(graph, outlook)
    assert first.value.retry_after_s == 2.128
    assert second.value.retry_after_s is not None
    assert 0 < second.value.retry_after_s <= 2.128
    assert len(wire.requests) == 1


async def test_other_mailboxes_are_called_during_a_pause(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(503, headers={"Retry-After": "60"}), page(deltaLink=f"{BASE}/d"))
    with pytest.raises(ProviderUnavailable):
        await changes(graph, outlook)
    await changes(graph, replace(outlook, provider_user_id="user-2"))


async def test_list_is_read_by_value_and_says_where_to_go_on(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(
        page(item(1), item(2, "2026-11-28T10:00:05.1234567Z"), nextLink=f"{BASE}/users/user-1/messages?$skip=2"),
        page(item(2, "2026-11-28T10:00:05.1234567Z")),
    )
    since = datetime(2026, 11, 28, 9, 59, tzinfo=UTC)
    first = await graph.list_modified(outlook, since)
    assert first.resume_after == datetime(2026, 11, 28, 10, 0, 5, 123456, tzinfo=UTC)
    last = await graph.list_modified(outlook, first.resume_after)
    assert last.resume_after is None
    query = wire.requests[1].url.query.decode()
    assert "$filter=lastModifiedDateTime%20ge%202026-11-28T10:00:05.123456Z" in query
    assert "$orderby=lastModifiedDateTime&" in query
    assert last.summaries[0].headers == {"list-unsubscribe": "<x>"}


async def test_more_items_of_one_time_than_a_page_holds_do_not_stop_the_list(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    at = datetime(2026, 11, 28, 10, tzinfo=UTC)
    wire.plays(
        page(item(1), item(2), nextLink=f"{BASE}/m?$skip=2"),
        page(item(3), item(4), nextLink=f"{BASE}/m?$skip=4"),
        page(item(5), item(6, "2026-11-28T10:00:01Z"), nextLink=f"{BASE}/m?$skip=6"),
    )
    found = await graph.list_modified(outlook, at)
    assert [summary.message_id for summary in found.summaries] == [f"AAMk{number}=" for number in range(1, 7)]
    assert found.resume_after == at + timedelta(seconds=1)


async def test_list_of_a_folder_tells_of_a_range_of_time_oldest_first_with_the_parts(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    parts = [{"id": "a1", "name": "invoice.pdf"}]
    wire.plays(page(item(1, attachments=parts), item(2, "2026-11-28T10:00:09.1234567Z", attachments=parts)))
    since = datetime(2026, 11, 28, 10, tzinfo=UTC)
    listed = await graph.list_received(outlook, "in/box", since, since + timedelta(seconds=9, microseconds=123456))
    assert [len(summary.parts or ()) for summary in listed.summaries] == [1, 1]
    assert listed.summaries[0].headers == {"list-unsubscribe": "<x>"}
    assert listed.resume_after is None
    (request,) = wire.requests
    assert request.url.raw_path.startswith(b"/v1.0/users/user-1/mailFolders/in%2Fbox/messages?")
    # The last one has a digit more than is read of it.
    assert request.url.params["$filter"] == (
        "receivedDateTime ge 2026-11-28T10:00:00Z and receivedDateTime lt 2026-11-28T10:00:10.123456Z"
    )
    assert request.url.params["$orderby"] == "receivedDateTime"
    assert request.url.params["$expand"].startswith("attachments($select=id,name,")


async def test_list_of_a_folder_goes_on_by_time_and_never_by_link(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(
        page(item(1), item(2, "2026-11-28T10:00:05Z"), nextLink="https://evil.example/v1.0/next"),
        page(nextLink=f"{BASE}/users/user-1/messages?$skip=50"),
    )
    since, until = datetime(2026, 11, 28, 10, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC)
    assert (await graph.list_received(outlook, "f", since, until)).resume_after == since + timedelta(seconds=5)
    assert (await graph.list_received(outlook, "f", since, until)).resume_after == since
    assert [request.url.host for request in wire.requests] == ["graph.example"] * 2


async def test_list_of_a_folder_comes_without_the_parts_where_they_are_refused(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(400, json={"error": {"code": "BadRequest"}}), page(item(1)), page(item(2)))
    for _ in range(2):
        (summary,) = (await graph.list_received(outlook, "f", START_AT, START_AT)).summaries
        assert (summary.parts, summary.headers) == (None, {"list-unsubscribe": "<x>"})
    assert ["$expand" in request.url.params for request in wire.requests] == [True, False, False]


async def test_item_in_an_odd_form_shows_what_can_be_read_of_it_and_hides_no_other(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    odd = item(1, **{"from": "nobody foresaw this"})
    wire.plays(page(odd, item(2)), page(odd, {"subject": "no id"}, item(2), deltaLink=f"{BASE}/d"))
    listed = (await graph.list_modified(outlook, datetime(2026, 11, 28, 10, tzinfo=UTC))).summaries
    shown = (await changes(graph, outlook)).changes
    for first, second in (listed, [change.summary for change in shown]):
        assert (first.message_id, first.subject, first.sender_address) == ("AAMk1=", "Invoice 1", None)
        assert second.subject == "Invoice 2"


async def test_known_message_costs_only_the_list_of_its_parts(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(
        page(item(1)),
        page(
            {
                "@odata.type": "#microsoft.graph.fileAttachment",
                "id": "att/1+=",
                "name": "../invoice.pdf",
                "contentType": "application/pdf",
                "size": 10,
                "isInline": False,
                "contentId": "c1",
            },
            {"@odata.type": "#microsoft.graph.itemAttachment", "id": "att2", "name": "Fwd", "contentType": None},
            {"@odata.type": "#microsoft.graph.referenceAttachment", "id": "att3", "name": "link"},
        ),
    )
    (known,) = (await graph.list_modified(outlook, START_AT)).summaries
    message = await graph.fetch_message(outlook, "AAMk1=", known)
    assert [(part.part_path, part.kind) for part in message.parts] == [
        ("att/1+=", PartKind.FILE),
        ("att2", PartKind.MESSAGE),
        ("att3", PartKind.LINK),
    ]
    assert (message.parts[0].filename, message.parts[0].content_id) == ("../invoice.pdf", "c1")
    assert message.html_body is None
    assert len(wire.requests) == 2
    assert (
        wire.requests[1].url.raw_path.decode().startswith("/v1.0/users/user-1/messages/AAMk1%3D/attachments?$select=")
    )


async def test_summary_of_a_delta_page_is_completed_before_it_is_believed(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json=item(1, hasAttachments=False)))
    message = await graph.fetch_message(outlook, "AAMk1=", MessageSummary(message_id="AAMk1=", is_read=True))
    assert (message.summary.subject, message.parts) == ("Invoice 1", ())


async def test_parts_are_asked_for_though_graph_says_there_are_none(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json=item(1, hasAttachments=False)), page({"id": "a1", "isInline": True}))
    message = await graph.fetch_message(outlook, "AAMk1=", with_parts=True)
    assert [part.is_inline for part in message.parts] == [True]


async def test_body_comes_only_when_asked_for_and_is_empty_for_plain_text(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(
        httpx.Response(200, json=item(1, body={"contentType": "html", "content": "<table>"})),
        httpx.Response(200, json=item(1, body={"contentType": "text", "content": "plain"})),
    )
    html = await graph.fetch_message(outlook, "AAMk1=", with_body=True, with_parts=False)
    text = await graph.fetch_message(outlook, "AAMk1=", with_body=True, with_parts=False)
    assert (html.html_body, text.html_body) == ("<table>", "")
    assert wire.requests[0].url.params["$select"].endswith(",body")


async def test_observed_mailbox_is_never_asked_for_bodies_or_attachments(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json=item(1)))
    observed = replace(outlook, profile=Profile.OBSERVATION)
    message = await graph.fetch_message(observed, "AAMk1=", with_body=True, with_parts=True)
    assert (message.parts, message.html_body) == ((), None)
    assert "body" not in wire.requests[0].url.params["$select"]


async def test_cast_that_is_refused_is_left_out_of_that_call_alone(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    refused = httpx.Response(400, json={"error": {"code": "RequestBroker--ParseUri"}})
    known = MessageSummary(message_id="m", received_at=START_AT, folder_id="f", has_attachments=True, headers={})
    wire.plays(refused, page({"id": "a1"}), page({"id": "a1", "contentId": "c1"}))
    found = [(await graph.fetch_message(outlook, "m", known)).parts[0].content_id for _ in range(2)]
    assert found == [None, "c1"]
    assert ["contentId" in str(request.url) for request in wire.requests] == [True, False, True]


async def test_parts_that_come_with_a_list_cost_no_further_call(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(page(item(1, attachments=[{"id": "a1", "name": "invoice.pdf"}]), item(2, attachments=[], **NO_FILES)))
    first, second = (await graph.list_modified(outlook, START_AT)).summaries
    message = await graph.fetch_message(outlook, "AAMk1=", first, with_parts=True)
    assert [part.filename for part in message.parts] == ["invoice.pdf"]
    assert (await graph.fetch_message(outlook, "AAMk2=", second, with_parts=True)).parts == ()
    assert len(wire.requests) == 1
    expand = wire.requests[0].url.params["$expand"]
    assert expand.startswith("attachments($select=id,name,")
    assert expand.endswith(",microsoft.graph.fileAttachment/contentId)")


async def test_parts_that_come_with_a_single_message_cost_no_further_call(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    wire.plays(httpx.Response(200, json=item(1, attachments=[{"id": "a1"}])))
    assert len((await graph.fetch_message(outlook, "AAMk1=", with_parts=True)).parts) == 1
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    "incomplete",
    [{}, {"attachments": []}, {"attachments": [{"id": "a1"}], "attachments@odata.nextLink": "https://…"}],
    ids=["none came along", "none though the mail has some", "more on another page"],
)
async def test_parts_that_did_not_all_come_along_are_listed(
    graph: GraphMail, wire: Any, outlook: Mailbox, incomplete: dict[str, Any]
) -> None:
    wire.plays(httpx.Response(200, json=item(1, **incomplete)), page({"id": "a1"}, {"id": "a2"}))
    assert len((await graph.fetch_message(outlook, "AAMk1=", with_parts=True)).parts) == 2


async def test_delta_and_observed_mailbox_are_never_expanded(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.answer = lambda _request: page(item(1), deltaLink=f"{BASE}/d")
    await changes(graph, outlook)
    observed = replace(outlook, profile=Profile.OBSERVATION)
    await graph.list_modified(observed, START_AT)
    await graph.list_received(observed, "inbox-id", START_AT, START_AT)
    assert not any("$expand" in request.url.params for request in wire.requests)


async def test_deleted_message_is_gone(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(404, json={"error": {"code": "ErrorItemNotFound"}}))
    with pytest.raises(ItemGone):
        await graph.fetch_message(outlook, "AAMk1=")


async def test_part_is_streamed_raw(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(200, content=b"%PDF-1.7"))
    part = Part(part_path="att/1=", kind=PartKind.FILE, filename=None, content_type=None)
    async with graph.open_part(outlook, "AAMk1=", part) as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"%PDF-1.7"
    assert (
        wire.requests[0].url.raw_path.decode() == "/v1.0/users/user-1/messages/AAMk1%3D/attachments/att%2F1%3D/$value"
    )


async def test_cloud_link_has_no_bytes(graph: GraphMail, wire: Any, outlook: Mailbox) -> None:
    part = Part(part_path="a", kind=PartKind.LINK, filename=None, content_type=None)
    with pytest.raises(Rejected):
        async with graph.open_part(outlook, "m", part):
            pytest.fail("a link was opened")
    assert wire.requests == []


async def test_mailbox_is_never_asked_by_more_than_four_calls_at_once(
    http: httpx.AsyncClient, tokens: Any, outlook: Mailbox
) -> None:
    running = most = 0

    async def slow(_request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return page(deltaLink=f"{BASE}/d")

    async with httpx.AsyncClient(transport=httpx.MockTransport(slow)) as client:
        graph = GraphMail(client, BaseURL(BASE), tokens, Quota(slots=4))
        await asyncio.gather(*(changes(graph, outlook) for _ in range(20)))
    assert most == 4
