"""Reading from Graph: folders, messages, attachments, batches. Each answer is held against the contract."""

import asyncio
import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from mailroom_sandbox.provider_doubles.client import ControlError
from mailroom_sandbox.testkit import contracts
from mailroom_sandbox.testkit.mailbox_users import OUTLOOK, MailboxUser, build_mail, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers

IMMUTABLE = 'IdType="ImmutableId"'
PDF = b"%PDF-1.4 sample\n"
NESTED = (
    b"From: a@partner.example\r\nTo: b@company.example\r\nSubject: Fwd\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n'
    b"--b\r\nContent-Type: message/rfc822\r\n\r\nFrom: c@supplier.example\r\nSubject: The invoice\r\n\r\nHello\r\n"
    b"--b--\r\n"
)
LOGO = (
    b"From: a@partner.example\r\nSubject: Logo\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/related; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n'
    b'<p>Save &amp; win</p><img src="cid:logo@x">\r\n--b\r\nContent-Type: image/png; name="logo.png"\r\n'
    b"Content-ID: <logo@x>\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--b--\r\n"
)


@pytest_asyncio.fixture(loop_scope="session")
async def delivered(providers: RunningProviders) -> list[str]:
    """Three mails, a minute apart; the last has two files."""
    received_at = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
    ids = []
    sources = (
        build_mail("First"),
        build_mail("Second"),
        build_mail("Third", files=[("a.pdf", PDF), ("b.pdf", b"%PDF")]),
    )
    for index, source in enumerate(sources):
        moment = received_at + timedelta(minutes=index)
        ids += await providers.control.deliver_mail(source, OUTLOOK, received_at=moment)
    return ids


async def test_folder_list_pages_and_hides_what_is_hidden(providers: RunningProviders, outlook: MailboxUser) -> None:
    for name in ("Alpha", "Beta", "Gamma", "Delta"):
        await providers.control.deliver_mail(build_mail(name), OUTLOOK, folder=name)
    seen: list[dict[str, Any]] = []
    path: str | None = "/me/mailFolders"
    while path:
        page = await outlook.get_json(path)
        contracts.check_graph_response_body("GET", "/users/{user-id}/mailFolders", page)
        assert len(page["value"]) <= 10
        seen += page["value"]
        path = page.get("@odata.nextLink")
    for folder in seen:
        contracts.check_graph_body("mailFolder", folder)
    names = [folder["displayName"] for folder in seen]
    assert {"Inbox", "Drafts", "Deleted Items", "Alpha", "Delta"} <= set(names)
    assert len(names) == len(set(names)) == 12
    hidden = await outlook.get_json("/me/mailFolders?includeHiddenFolders=true&$top=100")
    assert {folder["displayName"] for folder in hidden["value"]} - set(names) == {"Sync Issues"}


async def test_folder_is_found_by_id_name_and_bracketed_name(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    inbox = await outlook.get_json("/me/mailFolders/inbox")
    contracts.check_graph_body("mailFolder", inbox)
    assert (inbox["totalItemCount"], inbox["unreadItemCount"]) == (1, 1)
    for spelling in (f"/me/mailFolders/{inbox['id']}", "/me/mailFolders('Inbox')", "/me/mailfolders/INBOX"):
        assert (await outlook.get_json(spelling))["id"] == inbox["id"]
    await outlook.get_json("/me/mailFolders/nowhere", status=404)


async def test_child_folders_are_listed_below_their_parent(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK, folder="Inbox/Invoices/2026")
    invoices = (await outlook.get_json("/me/mailFolders/inbox/childFolders"))["value"]
    assert [(one["displayName"], one["childFolderCount"]) for one in invoices] == [("Invoices", 1)]
    deeper = await outlook.get_json(f"/me/mailFolders/{invoices[0]['id']}/childFolders")
    contracts.check_graph_response_body("GET", "/users/{user-id}/mailFolders/{mailFolder-id}/childFolders", deeper)
    assert [one["displayName"] for one in deeper["value"]] == ["2026"]


async def test_removed_folder_goes_with_its_messages(providers: RunningProviders, outlook: MailboxUser) -> None:
    folder_id = await providers.control.find_or_create_folder(OUTLOOK, "Inbox/Bills")
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK, folder="Inbox/Bills")
    assert (await outlook.get_json(f"/me/mailFolders/{folder_id}"))["displayName"] == "Bills"
    for name in ("Inbox", "Inbox/None"):
        with pytest.raises(ControlError, match="no folder"):
            await providers.control.remove_folder(OUTLOOK, name)
    await providers.control.remove_folder(OUTLOOK, "Inbox/Bills")
    assert (await outlook.send_request("GET", f"/me/mailFolders/{folder_id}")).status_code == 404
    assert (await outlook.send_request("GET", f"/me/messages/{message_id}")).status_code == 404


async def test_message_has_every_member_of_the_contract(delivered: list[str], outlook: MailboxUser) -> None:
    answer = await outlook.send_request("GET", f"/me/messages/{delivered[2]}", prefer=IMMUTABLE)
    body = answer.json()
    contracts.check_graph_body("message", body)
    assert answer.headers["content-type"].startswith("application/json; odata.metadata=minimal")
    assert {"request-id", "client-request-id", "x-ms-ags-diagnostic"} <= answer.headers.keys()
    assert body["id"] == delivered[2]
    assert body["hasAttachments"] is True
    assert body["receivedDateTime"] == "2026-11-02T09:02:00Z"
    assert body["from"] == {"emailAddress": {"name": "Billing", "address": "billing@supplier.example"}}
    assert body["@odata.etag"] == f'W/"{body["changeKey"]}"'
    assert "internetMessageHeaders" not in body


async def test_select_gives_only_what_is_named_and_refuses_what_is_unknown(
    delivered: list[str], outlook: MailboxUser
) -> None:
    page = await outlook.get_json("/me/messages?$select=subject,internetMessageHeaders&$top=1")
    (item,) = page["value"]
    assert item.keys() == {"@odata.etag", "id", "subject", "internetMessageHeaders"}
    contracts.check_graph_body("message", item, complete=False)
    refused = await outlook.get_json("/me/messages?$select=size", status=400)
    assert refused["error"]["code"] == "RequestBroker--ParseUri"
    contracts.check_graph_body("microsoft.graph.ODataErrors.ODataError", refused)


async def test_list_is_newest_first_and_pages_to_the_end(delivered: list[str], outlook: MailboxUser) -> None:
    subjects: list[str] = []
    path: str | None = "/me/messages?$top=2&$select=subject"
    while path:
        page = await outlook.get_json(path)
        contracts.check_graph_response_body("GET", "/users/{user-id}/messages", page)
        subjects += [item["subject"] for item in page["value"]]
        path = page.get("@odata.nextLink")
    assert subjects == ["Third", "Second", "First"]


async def test_filter_on_times_and_members_with_order(delivered: list[str], outlook: MailboxUser) -> None:
    async def subjects(query: str) -> list[str]:
        return [item["subject"] for item in (await outlook.get_json(f"/me/messages?{query}"))["value"]]

    after = "$filter=receivedDateTime ge 2026-11-02T09:01:00Z"
    assert await subjects(f"{after}&$orderby=receivedDateTime asc") == ["Second", "Third"]
    assert await subjects(f"{after} and hasAttachments eq true&$orderby=receivedDateTime") == ["Third"]
    assert await subjects("$filter=subject eq 'second'") == ["Second"]
    assert await subjects("$filter=from/emailAddress/address eq 'nobody@x.example'") == []
    assert await subjects("$filter=lastModifiedDateTime ge 2026-01-01T00:00:00Z&$orderby=lastModifiedDateTime asc") == [
        "First",
        "Second",
        "Third",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "$filter=isRead eq false&$orderby=receivedDateTime desc",
        "$filter=isRead eq false and receivedDateTime ge 2026-01-01T00:00:00Z&$orderby=receivedDateTime desc",
    ],
)
async def test_order_that_the_filter_does_not_begin_with_is_inefficient(outlook: MailboxUser, query: str) -> None:
    refused = await outlook.get_json(f"/me/messages?{query}", status=400)
    assert refused["error"]["code"] == "InefficientFilter"


async def test_change_shows_in_the_list_of_modified_messages(
    providers: RunningProviders, delivered: list[str], outlook: MailboxUser
) -> None:
    before = (await outlook.get_json(f"/me/messages/{delivered[0]}"))["changeKey"]
    await providers.control.mark_read(OUTLOOK, delivered[0])
    newest = await outlook.get_json("/me/messages?$orderby=lastModifiedDateTime desc&$top=1")
    assert newest["value"][0]["subject"] == "First"
    assert newest["value"][0]["isRead"] is True
    assert newest["value"][0]["changeKey"] != before


async def test_a_flag_is_the_one_that_was_set_last(
    providers: RunningProviders, delivered: list[str], outlook: MailboxUser
) -> None:
    for flag in ("flagged", "complete"):
        await providers.control.set_flag(OUTLOOK, delivered[0], flag)
        newest = await outlook.get_json("/me/messages?$orderby=lastModifiedDateTime desc&$top=1&$select=flag")
        assert newest["value"][0]["flag"] == {"flagStatus": flag}


async def test_default_id_changes_with_a_move_and_the_immutable_one_stays(
    providers: RunningProviders, delivered: list[str], outlook: MailboxUser
) -> None:
    (before,) = (await outlook.get_json("/me/messages?$filter=subject eq 'First'"))["value"]
    assert before["id"] != delivered[0]
    assert "=" in before["id"]
    assert "=" in delivered[0]
    await providers.control.move_message(OUTLOOK, delivered[0], "archive")
    gone = await outlook.get_json(f"/me/messages/{before['id']}", status=404)
    assert gone["error"]["code"] == "ErrorItemNotFound"
    after = await outlook.get_json(f"/me/messages/{delivered[0]}", prefer=IMMUTABLE)
    assert after["id"] == delivered[0]
    assert after["parentFolderId"] == (await outlook.get_json("/me/mailFolders/archive"))["id"]
    await outlook.get_json(f"/me/messages/{delivered[0].swapcase()}", status=404)


async def test_source_is_given_byte_for_byte(providers: RunningProviders, outlook: MailboxUser) -> None:
    source = build_mail("Exact", files=[("a.pdf", PDF)])
    (message_id,) = await providers.control.deliver_mail(source, OUTLOOK)
    answer = await outlook.send_request("GET", f"/me/messages/{message_id}/$value")
    assert answer.content == source


async def test_attachment_list_carries_content_unless_selected_away(delivered: list[str], outlook: MailboxUser) -> None:
    path = f"/me/messages/{delivered[2]}/attachments"
    page = await outlook.get_json(path)
    contracts.check_graph_response_body("GET", "/users/{user-id}/messages/{message-id}/attachments", page)
    for item in page["value"]:
        contracts.check_graph_body("fileAttachment", item)
    assert base64.b64decode(page["value"][0]["contentBytes"]) == PDF
    assert page["value"][0]["size"] > len(PDF)
    light = await outlook.get_json(f"{path}?$select=id,name,contentType,size,isInline,lastModifiedDateTime")
    assert all("contentBytes" not in item and item["name"] for item in light["value"])


async def test_content_id_must_be_cast_in_select(providers: RunningProviders, outlook: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(LOGO, OUTLOOK)
    path = f"/me/messages/{message_id}/attachments?$select=id,name,isInline"
    refused = await outlook.get_json(f"{path},contentId", status=400)
    assert refused["error"]["code"] == "RequestBroker--ParseUri"
    (item,) = (await outlook.get_json(f"{path},microsoft.graph.fileAttachment/contentId"))["value"]
    assert (item["contentId"], item["isInline"]) == ("logo@x", True)
    assert "contentBytes" not in item


async def test_inline_attachments_alone_do_not_count(providers: RunningProviders, outlook: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(LOGO, OUTLOOK)
    message = await outlook.get_json(f"/me/messages/{message_id}?$expand=attachments($select=id,name)")
    assert message["hasAttachments"] is False
    assert [item["name"] for item in message["attachments"]] == ["logo.png"]
    assert message["bodyPreview"] == "Save & win"


async def test_attachment_and_its_bytes(delivered: list[str], outlook: MailboxUser) -> None:
    (first, _) = (await outlook.get_json(f"/me/messages/{delivered[2]}/attachments", prefer=IMMUTABLE))["value"]
    one = await outlook.get_json(f"/me/messages/{delivered[2]}/attachments/{first['id']}")
    contracts.check_graph_body("fileAttachment", one)
    answer = await outlook.send_request("GET", f"/me/messages/{delivered[2]}/attachments/{first['id']}/$value")
    assert (answer.content, answer.headers["content-type"]) == (PDF, "application/pdf")
    await outlook.get_json(f"/me/messages/{delivered[0]}/attachments/{first['id']}", status=404)


async def test_attachment_ids_follow_the_kind_of_message_id(
    providers: RunningProviders, delivered: list[str], outlook: MailboxUser
) -> None:
    async def ids(prefer: str | None) -> list[str]:
        page = await outlook.get_json(f"/me/messages/{delivered[2]}/attachments", prefer=prefer)
        return [item["id"] for item in page["value"]]

    default, immutable = await ids(None), await ids(IMMUTABLE)
    await providers.control.move_message(OUTLOOK, delivered[2], "archive")
    assert await ids(IMMUTABLE) == immutable
    assert set(await ids(None)).isdisjoint(default)


async def test_nested_message_is_an_item_with_its_own_source(providers: RunningProviders, outlook: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(NESTED, OUTLOOK)
    path = f"/me/messages/{message_id}/attachments"
    (item,) = (await outlook.get_json(path))["value"]
    contracts.check_graph_body("itemAttachment", item)
    assert (item["@odata.type"], item["name"], item["contentType"]) == (
        "#microsoft.graph.itemAttachment",
        "The invoice",
        None,
    )
    source = await outlook.send_request("GET", f"{path}/{item['id']}/$value")
    assert source.content.startswith(b"From: c@supplier.example\r\nSubject: The invoice\r\n\r\nHello")
    expanded = await outlook.get_json(f"{path}/{item['id']}?$expand=microsoft.graph.itemattachment/item")
    assert (expanded["item"]["id"], expanded["item"]["subject"]) == ("", "The invoice")
    contracts.check_graph_body("itemAttachment", expanded)


async def test_body_comes_as_text_when_that_is_preferred(providers: RunningProviders, outlook: MailboxUser) -> None:
    (message_id,) = await providers.control.deliver_mail(LOGO, OUTLOOK)
    answer = await outlook.send_request("GET", f"/me/messages/{message_id}", prefer='outlook.body-content-type="text"')
    assert answer.json()["body"] == {"contentType": "text", "content": "Save & win"}
    assert answer.headers["preference-applied"] == 'outlook.body-content-type="text"'
    assert (await outlook.get_json(f"/me/messages/{message_id}"))["body"]["contentType"] == "html"


async def test_basic_permission_sees_neither_body_nor_attachment(
    providers: RunningProviders, delivered: list[str]
) -> None:
    person = await sign_in_outlook_user(providers, scope="openid offline_access Mail.ReadBasic")
    message = await person.get_json(f"/me/messages/{delivered[2]}")
    assert message["subject"] == "Third"
    assert not {"body", "bodyPreview", "uniqueBody"} & message.keys()
    for path in ("attachments", "$value"):
        refused = await person.get_json(f"/me/messages/{delivered[2]}/{path}", status=403)
        assert refused["error"]["code"] == "ErrorAccessDenied"


async def test_strangers_mailbox_is_closed(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    await outlook.get_json("/users/bob@company.example/messages", status=403)
    await outlook.get_json("/users/nobody@company.example/messages", status=404)
    await outlook.get_json(f"/users/{OUTLOOK}/messages")


async def test_token_is_asked_for_and_dies(providers: RunningProviders, outlook: MailboxUser) -> None:
    bare = await providers.http.get(f"{providers.at.graph_url}/me/messages")
    assert (bare.status_code, bare.json()["error"]["message"]) == (401, "Access token is empty.")
    await providers.control.expire_tokens(OUTLOOK)
    dead = await outlook.get_json("/me/messages", status=401)
    assert dead["error"]["code"] == "InvalidAuthenticationToken"
    contracts.check_graph_body("microsoft.graph.ODataErrors.ODataError", dead)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", dead["error"]["innerError"]["date"])


async def test_token_runs_out_by_itself(folder: Any) -> None:
    async with running_providers(folder, access_token_lifetime_s=0) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        person = await sign_in_outlook_user(providers)
        await person.get_json("/me", status=401)


async def test_fifth_call_at_once_to_one_mailbox_is_refused(folder: Any) -> None:
    async with running_providers(folder, latency_ms=1500) as providers:
        await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
        await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
        ada = await sign_in_outlook_user(providers)
        bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
        answers = await asyncio.gather(*(person.send_request("GET", "/me/messages") for person in [ada] * 6 + [bob]))
        assert sorted(answer.status_code for answer in answers[:6]) == [200] * 4 + [429] * 2
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.json()["error"]["code"] == "ApplicationThrottled"
        assert answers[6].status_code == 200


async def test_batch_answers_each_call_and_counts_its_slots(delivered: list[str], outlook: MailboxUser) -> None:
    urls = ["/me/messages?$top=1&$select=subject", f"/me/messages/{delivered[0]}/$value", "/me/messages/nothing"]
    batch = {"requests": [{"id": str(index), "method": "GET", "url": url} for index, url in enumerate(urls)]}
    answer = await outlook.post_json("/$batch", batch)
    contracts.check_graph_response_body("POST", "/$batch", answer)
    by_id = {step["id"]: step for step in answer["responses"]}
    assert [by_id[name]["status"] for name in "012"] == [200, 200, 404]
    assert base64.b64decode(by_id["1"]["body"]).startswith(b"From: ")
    crowd = {"requests": [{"id": str(index), "method": "GET", "url": "/me/messages"} for index in range(20)]}
    statuses = [step["status"] for step in (await outlook.post_json("/$batch", crowd))["responses"]]
    assert (statuses.count(200), statuses.count(429)) == (4, 16)


async def test_batch_takes_preferences_per_call(delivered: list[str], outlook: MailboxUser) -> None:
    url = "/me/messages?$filter=subject eq 'First'"
    fields = {"method": "GET", "url": url}
    requests = [{"id": "a", **fields, "headers": {"Prefer": IMMUTABLE}}, {"id": "b", **fields}]
    responses = (await outlook.post_json("/$batch", {"requests": requests}))["responses"]
    ids = {step["id"]: step["body"]["value"][0]["id"] for step in responses}
    assert ids["a"] == delivered[0] != ids["b"]


async def test_batch_rules(outlook: MailboxUser) -> None:
    one = {"method": "GET", "url": "/me"}
    many = [{"id": str(index), **one} for index in range(21)]
    for requests in ([], many, [{"id": "a", **one}, {"id": "A", **one}], [{"id": "a"}]):
        await outlook.post_json("/$batch", {"requests": requests}, status=400)
    chain = [{"id": "1", "method": "GET", "url": "/me/messages/none"}, {"id": "2", **one, "dependsOn": ["1"]}]
    responses = (await outlook.post_json("/$batch", {"requests": chain}))["responses"]
    assert {step["id"]: step["status"] for step in responses} == {"1": 404, "2": 424}


async def test_ids_are_translated_both_ways(delivered: list[str], outlook: MailboxUser) -> None:
    fields = {
        "InputIds": [delivered[0], "unknown"],
        "SourceIdType": "restImmutableEntryId",
        "TargetIdType": "restId",
    }
    answer = await outlook.post_json("/me/translateExchangeIds", fields)
    contracts.check_graph_response_body("POST", "/users/{user-id}/translateExchangeIds", answer)
    known, unknown = answer["value"]
    assert unknown["errorDetails"]["code"] == "ErrorItemNotFound"
    back = {"inputIds": [known["targetId"]], "sourceIdType": "restId", "targetIdType": "restImmutableEntryId"}
    assert (await outlook.post_json("/me/translateExchangeIds", back))["value"][0]["targetId"] == delivered[0]


async def test_user_is_named_by_guid_and_address(outlook: MailboxUser) -> None:
    me = await outlook.get_json("/me")
    contracts.require_members(me, {"id", "displayName", "mail", "userPrincipalName"})
    assert (me["mail"], me["userPrincipalName"]) == (OUTLOOK, OUTLOOK)
    assert (await outlook.get_json(f"/users/{me['id']}"))["id"] == (await outlook.get_json(f"/users/{OUTLOOK}"))["id"]
    only = await outlook.get_json("/me?$select=id,proxyAddresses")
    assert only["proxyAddresses"] == [f"SMTP:{OUTLOOK}"]
    assert "mail" not in only


async def test_disabled_mailbox_says_so(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.disable_mailbox(OUTLOOK, "MailboxNotEnabledForRESTAPI")
    refused = await outlook.get_json("/me/messages", status=404)
    assert refused["error"]["code"] == "MailboxNotEnabledForRESTAPI"
    await providers.control.disable_mailbox(OUTLOOK, None)
    await outlook.get_json("/me/messages")


async def test_unknown_path_is_a_bad_request(outlook: MailboxUser) -> None:
    refused = await outlook.get_json("/me/calendars", status=400)
    assert refused["error"]["code"] == "BadRequest"
