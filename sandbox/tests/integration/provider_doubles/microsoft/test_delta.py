"""Delta over HTTP: tokens, pages, what is refused. That rounds tell the truth is proven in test_delta_rounds."""

from datetime import datetime
from typing import Any

import pytest

from mailroom_sandbox.testkit import contracts
from mailroom_sandbox.testkit.mailbox_users import OUTLOOK, MailboxUser, build_mail, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders

IMMUTABLE = 'IdType="ImmutableId"'
INBOX = "/me/mailFolders/inbox/messages/delta"
PATH = "/users/{user-id}/mailFolders/{mailFolder-id}/messages/delta()"


async def to_the_end(person: MailboxUser, path: str, prefer: str = IMMUTABLE) -> tuple[list[dict[str, Any]], str, int]:
    """Items, delta link, and number of pages."""
    items: list[dict[str, Any]] = []
    pages = 0
    while True:
        page = await person.get_json(path, prefer=prefer)
        contracts.check_graph_response_body("GET", PATH, page)
        pages += 1
        items += page["value"]
        assert ("@odata.nextLink" in page) != ("@odata.deltaLink" in page)
        if "@odata.deltaLink" in page:
            return items, page["@odata.deltaLink"], pages
        path = page["@odata.nextLink"]


@pytest.mark.parametrize("spelling", ["delta", "delta()", "microsoft.graph.delta()"])
async def test_every_spelling_of_delta_is_understood(outlook: MailboxUser, spelling: str) -> None:
    page = await outlook.get_json(f"/me/mailFolders('inbox')/messages/{spelling}")
    assert page["value"] == []
    assert "$deltatoken=" in page["@odata.deltaLink"]


async def test_first_round_lists_the_folder_alone_and_the_next_what_changed(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    control = providers.control
    ids = [(await control.deliver_mail(build_mail(f"Mail {number}"), OUTLOOK))[0] for number in range(5)]
    await control.deliver_mail(build_mail("Elsewhere"), OUTLOOK, folder="Inbox/Below")
    items, link, pages = await to_the_end(outlook, INBOX, f"{IMMUTABLE}, odata.maxpagesize=2")
    assert ({item["id"] for item in items}, pages) == (set(ids), 3)
    for item in items:
        contracts.check_graph_body("message", item)
        assert item["@odata.type"] == "#microsoft.graph.message"

    assert (await to_the_end(outlook, link))[0] == []
    await control.mark_read(OUTLOOK, ids[0])
    await control.move_message(OUTLOOK, ids[1], "archive")
    await control.delete_message(OUTLOOK, ids[2])
    (new,) = await control.deliver_mail(build_mail("New"), OUTLOOK)
    changed, _, _ = await to_the_end(outlook, link)
    by_id = {item["id"]: item for item in changed}
    assert by_id.keys() == {ids[0], ids[1], ids[2], new}
    assert by_id[ids[0]]["isRead"] is True
    for gone in (ids[1], ids[2]):
        assert by_id[gone] == {
            "@odata.type": "#microsoft.graph.message",
            "id": gone,
            "@removed": {"reason": "deleted"},
        }


async def test_move_removes_the_default_id_and_brings_another(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(), OUTLOOK)
    (before,), inbox, _ = await to_the_end(outlook, INBOX, "")
    _, archive, _ = await to_the_end(outlook, "/me/mailFolders/archive/messages/delta", "")
    await providers.control.move_message(OUTLOOK, message_id, "archive")
    (removed,), _, _ = await to_the_end(outlook, inbox, "")
    (arrived,), _, _ = await to_the_end(outlook, archive, "")
    assert removed["id"] == before["id"] != arrived["id"]
    assert "@removed" in removed


async def test_select_and_change_types_travel_in_the_token(providers: RunningProviders, outlook: MailboxUser) -> None:
    (first,) = await providers.control.deliver_mail(build_mail("First"), OUTLOOK)
    items, link, _ = await to_the_end(outlook, f"{INBOX}?$select=subject&changeType=created")
    assert [item.keys() for item in items] == [{"@odata.type", "@odata.etag", "id", "subject"}]
    await providers.control.mark_read(OUTLOOK, first)
    await providers.control.deliver_mail(build_mail("Second"), OUTLOOK)
    later, _, _ = await to_the_end(outlook, link)
    assert [(item["subject"], len(item)) for item in later] == [("Second", 4)]
    assert "select" not in link


async def test_expanded_attachments_stay_expanded_in_later_rounds(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    _, link, _ = await to_the_end(outlook, f"{INBOX}?$select=subject&$expand=attachments($select=id,name)")
    await providers.control.deliver_mail(build_mail(files=[("a.pdf", b"%PDF")]), OUTLOOK)
    (item,), _, _ = await to_the_end(outlook, link)
    assert [one["name"] for one in item["attachments"]] == ["a.pdf"]


@pytest.mark.parametrize("option", ["$search=invoice", "$count=true", "$deltaToken=latest"])
async def test_option_that_is_not_played_is_refused_and_not_ignored(outlook: MailboxUser, option: str) -> None:
    for path in (INBOX, "/me/messages"):
        await outlook.get_json(f"{path}?{option}", status=400)


async def test_page_size_is_wished_for_on_every_request(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK, times=5)
    page = await outlook.get_json(INBOX, prefer="odata.maxpagesize=1")
    assert len(page["value"]) == 1
    rest = await outlook.get_json(page["@odata.nextLink"])
    assert len(rest["value"]) == 4


async def test_filter_knows_only_the_time_of_arrival(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.deliver_mail(
        build_mail("Old"), OUTLOOK, received_at=datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    )
    await providers.control.deliver_mail(build_mail("New"), OUTLOOK)
    items, _, _ = await to_the_end(outlook, f"{INBOX}?$filter=receivedDateTime ge 2026-06-01T00:00:00Z")
    assert [item["subject"] for item in items] == ["New"]
    for wrong in ("isRead eq false", "receivedDateTime lt 2026-06-01T00:00:00Z"):
        await outlook.get_json(f"{INBOX}?$filter={wrong}", status=400)
    await outlook.get_json(f"{INBOX}?changeType=moved", status=400)


async def test_forgotten_generation_refuses_every_token_until_a_new_round(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK, times=3)
    page = await outlook.get_json(INBOX, prefer="odata.maxpagesize=1")
    _, link, _ = await to_the_end(outlook, INBOX)
    await providers.control.refuse_cursors(OUTLOOK)
    for token in (link, page["@odata.nextLink"]):
        answer = await outlook.send_request("GET", token)
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "SyncStateNotFound")
        assert answer.headers["location"].endswith("$deltatoken=")
    items, link, _ = await to_the_end(outlook, answer.headers["location"])
    assert len(items) == 3
    assert (await to_the_end(outlook, link))[0] == []


@pytest.mark.parametrize(("where", "refused"), [("start", "deltaLink"), ("middle", "nextLink")])
async def test_cursor_fault_strikes_where_it_is_told_and_once(
    providers: RunningProviders, outlook: MailboxUser, where: str, refused: str
) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK, times=3)
    page = await outlook.get_json(INBOX, prefer="odata.maxpagesize=1")
    _, delta_link, _ = await to_the_end(outlook, INBOX)
    links = {"deltaLink": delta_link, "nextLink": page["@odata.nextLink"]}
    await providers.control.set_fault("cursor_refused", mailbox=OUTLOOK, where=where)
    other = links["nextLink" if refused == "deltaLink" else "deltaLink"]
    assert (await outlook.send_request("GET", other)).status_code == 200
    assert [(await outlook.send_request("GET", links[refused])).status_code for _ in range(2)] == [410, 200]


async def test_lagging_delta_shows_later_what_the_list_shows_now(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    _, link, _ = await to_the_end(outlook, INBOX)
    await providers.control.set_fault("delta_lag", mailbox=OUTLOOK, lag_s=3600)
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    items, lagging, _ = await to_the_end(outlook, link)
    assert items == []
    assert len((await outlook.get_json("/me/messages"))["value"]) == 1
    assert (await to_the_end(outlook, INBOX))[0] == []
    await providers.control.clear_faults("delta_lag")
    assert len((await to_the_end(outlook, lagging))[0]) == 1


async def test_token_of_another_mailbox_or_of_nobody_is_malformed(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
    _, link, _ = await to_the_end(outlook, INBOX)
    token = link.partition("$deltatoken=")[2]
    await bob.get_json(f"{INBOX}?$deltatoken={token}", status=400)
    await outlook.get_json(f"{INBOX}?$deltatoken={token[:-4]}AAAA", status=400)
    await outlook.get_json(f"{INBOX}?$deltatoken=x", status=400)
    await outlook.get_json(f"/me/mailFolders/archive/messages/delta?$deltatoken={token}", status=400)


async def test_folder_delta_tells_of_new_folders(providers: RunningProviders, outlook: MailboxUser) -> None:
    items: list[dict[str, Any]] = []
    path = "/me/mailFolders/delta"
    while True:
        page = await outlook.get_json(path)
        contracts.check_graph_response_body("GET", "/users/{user-id}/mailFolders/delta()", page)
        items += page["value"]
        if "@odata.deltaLink" in page:
            break
        path = page["@odata.nextLink"]
    assert {"Inbox", "Archive"} <= {item["displayName"] for item in items}
    await providers.control.deliver_mail(build_mail(), OUTLOOK, folder="Receipts")
    changed = await outlook.get_json(page["@odata.deltaLink"])
    assert [item["displayName"] for item in changed["value"]] == ["Receipts"]
    await providers.control.remove_folder(OUTLOOK, "Receipts")
    gone = await outlook.get_json(changed["@odata.deltaLink"])
    assert gone["value"] == [{"id": changed["value"][0]["id"], "@removed": {"reason": "deleted"}}]


async def test_replayed_changes_come_again_in_each_round(providers: RunningProviders, outlook: MailboxUser) -> None:
    ids = [(await providers.control.deliver_mail(build_mail(f"Mail {number}"), OUTLOOK))[0] for number in range(3)]
    _, link, _ = await to_the_end(outlook, INBOX)
    await providers.control.set_fault("delta_shape", replayed_changes=2)
    for _ in range(2):
        items, link, _ = await to_the_end(outlook, link)
        assert [item["id"] for item in items] == ids[1:]


async def test_empty_pages_and_repeated_items_change_nothing_but_the_pages(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    ids = [(await providers.control.deliver_mail(build_mail(f"Mail {number}"), OUTLOOK))[0] for number in range(3)]
    await providers.control.set_fault("delta_shape", empty_pages=2, repeat_items=True)
    items, link, pages = await to_the_end(outlook, INBOX, f"{IMMUTABLE}, odata.maxpagesize=2")
    assert ([item["id"] for item in items], pages) == ([one for one in ids[::-1] for _ in range(2)], 6)
    assert (await to_the_end(outlook, link))[::2] == ([], 3)


async def test_moves_are_left_out_of_the_changes_and_shown_by_the_list(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail("Moved"), OUTLOOK, folder="archive")
    _, inbox, _ = await to_the_end(outlook, INBOX)
    _, archive, _ = await to_the_end(outlook, "/me/mailFolders/archive/messages/delta")
    await providers.control.set_fault("delta_shape", lose_moves=True)
    await providers.control.move_message(OUTLOOK, message_id, "inbox")
    (new,) = await providers.control.deliver_mail(build_mail("New"), OUTLOOK)
    assert [item["id"] for item in (await to_the_end(outlook, inbox))[0]] == [new]
    (removed,) = (await to_the_end(outlook, archive))[0]
    assert (removed["id"], "@removed" in removed) == (message_id, True)
    listed = await outlook.get_json("/me/mailFolders/inbox/messages", prefer=IMMUTABLE)
    assert {item["id"] for item in listed["value"]} == {message_id, new}
