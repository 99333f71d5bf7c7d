"""Observation: what happens to mails is reported, by metadata alone."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fake_mailbox import FakeGmail, FakeOutlook, File
from sync_harness import START, Engine, doc_source, open_engine

from mailroom_common.errors import CursorRefused, ProviderUnavailable, Rejected, Throttled
from mailroom_common.events import DocSource, MailKind, Profile, SyncReason
from mailroom_common.providers.types import FollowUpFlag
from sync_engine.domain.run_outcomes import RunDeferred


@pytest.fixture
def connected_source() -> DocSource:
    return doc_source(profile=Profile.OBSERVATION)


@pytest.fixture
async def observed_gmail(postgres_url: str, tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, doc_source("gmail", Profile.OBSERVATION)) as engine:
        yield engine


async def _read_reported(engine: Engine) -> list[tuple[MailKind, str]]:
    return [(event.kind, event.message_id) for event in await engine.read_mail_events()]


async def _full(engine: Engine) -> None:
    engine.clock.pass_by(minutes=11)
    assert (await engine.complete_run(SyncReason.BACKSTOP)).is_full


async def test_no_attachment_is_opened_and_none_is_reported(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(), headers={"list-id": "<news>"})
    await engine.complete_run()
    (event,) = await engine.read_mail_events()
    assert (event.kind, event.newsletter, event.automated) == (MailKind.RECEIVED, True, False)
    assert (event.from_domain, event.folder, event.folder_id) == ("supplier.example", "Posteingang", "f-inbox")
    assert outlook.calls["open_part"] == 0
    assert await engine.read_attachments() == []
    assert (await engine.read_row("message"))["state"] == "observed"


async def test_every_folder_is_observed(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("junk", folder_id="f-junk")
    await engine.complete_run()
    assert await _read_reported(engine) == [(MailKind.RECEIVED, "junk")]


async def test_old_mail_is_remembered_silently_and_what_becomes_of_it_is_reported(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("old", received_at=START - timedelta(days=1))
    await engine.complete_run()
    assert outlook.calls["fetch"] == 0
    assert await _read_reported(engine) == []
    row = await engine.read_row("message")
    assert (row["state"], row["skip_reason"], row["folder"]) == ("observed", "before_start", "Posteingang")
    assert (row["subject"], row["sender_address"]) == (None, None), "no more is kept than tells its changes"
    assert (await engine.read_row("sync_run"))["new_messages"] == 0

    outlook.touch("old", is_read=True)
    await _full(engine)
    outlook.move("old", "f-deleted")
    await _full(engine)
    outlook.delete("old")
    await _full(engine)
    changed, moved, removed = await engine.read_mail_events()
    assert [event.kind for event in (changed, moved, removed)] == [MailKind.CHANGED, MailKind.MOVED, MailKind.REMOVED]
    assert (changed.subject, moved.previous_folder) == ("Invoice 17", "Posteingang")
    assert (await engine.read_row("message"))["skip_reason"] is None


async def test_old_mail_is_received_where_the_start_is_moved_back_before_it(
    engine: Engine, outlook: FakeOutlook
) -> None:
    earlier = START - timedelta(days=2)
    outlook.deliver("older", received_at=earlier - timedelta(days=1))
    outlook.deliver("old", received_at=START - timedelta(days=1))
    await engine.complete_run()
    await engine.change_source(start_at=earlier, relist_from=earlier, relist_number=1)
    await _full(engine)
    assert await _read_reported(engine) == [(MailKind.RECEIVED, "old")]


async def test_the_life_of_a_mail_is_reported_in_order_and_once(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    outlook.touch("m1", flag=FollowUpFlag.FLAGGED, sender_name="Ada Alder")
    await _full(engine)
    outlook.move("m1", "f-deleted")
    await _full(engine)
    outlook.delete("m1")
    await _full(engine)
    await _full(engine)
    assert await _read_reported(engine) == [
        (MailKind.RECEIVED, "m1"),
        (MailKind.CHANGED, "m1"),
        (MailKind.MOVED, "m1"),
        (MailKind.REMOVED, "m1"),
    ]
    received, changed, moved, removed = await engine.read_mail_events()
    assert (received.from_name, received.flag) == (None, None)
    assert (changed.from_name, changed.flag) == ("Ada Alder", "flagged")
    assert (moved.previous_folder_id, moved.folder_id) == ("f-inbox", "f-deleted")
    assert moved.previous_folder == "Posteingang"
    assert (removed.previous_folder_id, removed.folder_id) == ("f-deleted", None)
    assert removed.previous_folder == moved.folder is not None
    assert (await engine.read_row("message"))["state"] == "removed"


async def test_each_removal_of_a_mail_that_comes_back_is_reported(engine: Engine, outlook: FakeOutlook) -> None:
    """Each time in the version that it had: as when the provider did not find it for a while."""
    outlook.deliver("m1")
    await engine.complete_run()
    mail = outlook.mails["m1"]
    for _ in range(3):
        outlook.delete("m1")
        await _full(engine)
        outlook.put_back(mail)
        await _full(engine)
    events = await engine.read_mail_events()
    assert [event.kind for event in events] == [MailKind.RECEIVED, *[MailKind.REMOVED, MailKind.CHANGED] * 3]
    assert len({event.event_id for event in events}) == len(events)
    recorded = await engine.pool.fetch(
        "select event_id, event from sync_engine.mail_event where doc_source_id = $1 order by recorded_at, seq",
        engine.source.doc_source_id,
    )
    assert [row["event_id"] for row in recorded] == [event.event_id for event in events]
    assert [row["event"]["kind"] for row in recorded] == [event.kind for event in events]


async def test_a_removal_is_believed_only_when_the_mail_cannot_be_fetched(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    outlook.lose_additions.add("m1")
    outlook.move("m1", "f-invoices")
    await _full(engine)
    assert await _read_reported(engine) == [(MailKind.RECEIVED, "m1"), (MailKind.MOVED, "m1")]


async def test_a_hinted_run_reads_only_the_folders_that_the_list_shows(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    engine.clock.pass_by(minutes=3)
    outlook.deliver("m2", folder_id="f-junk")
    outlook.calls.clear()
    await engine.complete_run()
    assert outlook.calls == {"list": 1, "delta": 1}
    assert (MailKind.RECEIVED, "m2") in await _read_reported(engine)


async def test_a_woken_mailbox_with_nothing_new_costs_one_call(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    engine.clock.pass_by(seconds=20)
    outlook.calls.clear()
    await engine.complete_run()
    assert outlook.calls == {"list": 1}, "what the overlap shows again is no news"


async def test_what_was_deleted_while_the_cursor_was_lost_is_reported_after_the_re_list(
    engine: Engine, outlook: FakeOutlook
) -> None:
    for message_id in ("stays", "goes"):
        outlook.deliver(message_id)
    await engine.complete_run()
    outlook.delete("goes")
    outlook.errors["delta"] = [CursorRefused("410")]
    await _full(engine)
    assert (await _read_reported(engine))[2:] == [(MailKind.REMOVED, "goes")]


async def test_many_removals_are_confirmed_once_each_however_often_the_quota_ends(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.page_size = 200
    for number in range(600):
        outlook.deliver(f"m{number:03}")
    await engine.complete_run()
    gone = sorted(outlook.mails)[10:]
    for message_id in gone:
        outlook.delete(message_id)
    outlook.calls.clear()
    outlook.errors["delta"] = [CursorRefused("410")]
    engine.clock.pass_by(minutes=11)
    outlook.limit_units(120, {"fetch": 1})
    runs = 0
    while isinstance(outcome := await engine.run_sync(SyncReason.BACKSTOP), RunDeferred):
        runs += 1
        assert runs < 8
        engine.clock.now = outcome.not_before + timedelta(minutes=1)
    reported = (await _read_reported(engine))[600:]
    assert sorted(reported) == [(MailKind.REMOVED, message_id) for message_id in gone]
    assert outlook.units_spent == len(gone), "each was asked for once"


@pytest.mark.parametrize("in_the_middle", [False, True])
async def test_what_was_in_a_folder_that_is_purged_is_reported_once_it_is_nowhere(
    engine: Engine, outlook: FakeOutlook, in_the_middle: bool
) -> None:
    for message_id in ("goes", "stays"):
        outlook.deliver(message_id, folder_id="f-invoices")
    await engine.complete_run()
    del outlook.mails["goes"]
    outlook.lose_additions.add("stays")
    outlook.move("stays", "f-inbox")

    async def purged(_: str) -> None:
        outlook.tree = [folder for folder in outlook.tree if folder.folder_id != "f-invoices"]

    if in_the_middle:
        outlook.meanwhile["delta"] = purged
    else:
        await purged("f-invoices")
    await _full(engine)
    await _full(engine)
    assert sorted((await _read_reported(engine))[2:]) == [(MailKind.MOVED, "stays"), (MailKind.REMOVED, "goes")]
    assert "f-invoices" not in {row["scope"] for row in await engine.read_rows("cursor")}


async def test_a_purged_folder_is_looked_through_again_when_the_provider_failed_over_it(
    engine: Engine, outlook: FakeOutlook
) -> None:
    for message_id in ("m1", "m2"):
        outlook.deliver(message_id, folder_id="f-invoices")
    await engine.complete_run()
    outlook.tree = [folder for folder in outlook.tree if folder.folder_id != "f-invoices"]
    outlook.mails.clear()
    outlook.errors["fetch"] = [Throttled("patience")]
    engine.clock.pass_by(minutes=11)
    outcome = await engine.run_sync(SyncReason.BACKSTOP)
    assert isinstance(outcome, RunDeferred)
    engine.clock.now = outcome.not_before
    await engine.complete_run()
    assert sorted((await _read_reported(engine))[2:]) == [(MailKind.REMOVED, "m1"), (MailKind.REMOVED, "m2")]


async def test_a_change_that_could_not_be_read_is_reported_as_a_change_when_it_can(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    outlook.touch("m1", received_at=None)  # a delta that says too little, so that the mail is fetched
    outlook.item_errors["m1"] = Rejected("400")
    await _full(engine)
    assert (await engine.read_row("parked_item"))["message_id"] == "m1"
    outlook.item_errors.clear()
    await _full(engine)
    assert await _read_reported(engine) == [(MailKind.RECEIVED, "m1"), (MailKind.CHANGED, "m1")]
    assert await engine.read_rows("parked_item") == []


async def test_a_removal_that_cannot_be_confirmed_holds_the_mailbox_up_for_one_run(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1")
    await engine.complete_run()
    outlook.delete("m1")
    outlook.deliver("m2")
    outlook.item_errors["m1"] = ProviderUnavailable("500")
    engine.clock.pass_by(minutes=11)
    outcome = await engine.run_sync(SyncReason.BACKSTOP)
    assert isinstance(outcome, RunDeferred)
    engine.clock.now = outcome.not_before
    await engine.complete_run()
    assert await _read_reported(engine) == [(MailKind.RECEIVED, "m1"), (MailKind.RECEIVED, "m2")]
    outlook.item_errors.clear()
    await _full(engine)
    assert (await _read_reported(engine))[2:] == [(MailKind.REMOVED, "m1")]
    assert await engine.read_rows("parked_item") == []


async def test_labels_are_the_folders_of_a_gmail_mailbox(observed_gmail: Engine) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    await observed_gmail.complete_run()
    gmail.deliver("m1")
    await observed_gmail.complete_run()
    gmail.relabel("m1", frozenset({"INBOX", "STARRED"}))
    await observed_gmail.complete_run()
    gmail.relabel("m1", frozenset({"TRASH"}))
    await observed_gmail.complete_run()
    gmail.delete("m1")
    await observed_gmail.complete_run()
    await observed_gmail.complete_run()
    assert await _read_reported(observed_gmail) == [
        (MailKind.RECEIVED, "m1"),
        (MailKind.CHANGED, "m1"),
        (MailKind.MOVED, "m1"),
        (MailKind.REMOVED, "m1"),
    ]


async def test_what_was_deleted_while_gmails_history_was_lost_is_reported_after_the_re_list(
    observed_gmail: Engine,
) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    for message_id in ("stays", "goes"):
        gmail.deliver(message_id)
    await observed_gmail.complete_run()
    observed_gmail.clock.pass_by(minutes=1)
    gmail.delete("goes")
    gmail.errors["history"] = [CursorRefused("404")]
    await observed_gmail.complete_run()
    assert (await _read_reported(observed_gmail))[2:] == [(MailKind.REMOVED, "goes")]


async def test_what_gmail_says_is_deleted_is_reported_at_once_though_it_is_parked(observed_gmail: Engine) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    gmail.deliver("m1")
    await observed_gmail.complete_run()
    gmail.relabel("m1", frozenset({"TRASH"}))
    gmail.item_errors["m1"] = Rejected("400")
    await observed_gmail.complete_run()
    assert (await observed_gmail.read_row("parked_item"))["message_id"] == "m1"
    gmail.delete("m1")
    await observed_gmail.complete_run()
    assert await _read_reported(observed_gmail) == [(MailKind.RECEIVED, "m1"), (MailKind.REMOVED, "m1")]
    assert await observed_gmail.read_rows("parked_item") == []


async def test_old_mail_of_gmail_costs_no_call_and_what_becomes_of_it_is_reported(observed_gmail: Engine) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    for number in range(7):
        gmail.deliver(f"old{number}", received_at=START - timedelta(days=2), in_history=False)
    await observed_gmail.complete_run()
    assert gmail.calls["fetch"] == 0
    assert await _read_reported(observed_gmail) == []
    assert len(await observed_gmail.read_rows("message")) == 7
    gmail.relabel("old1", frozenset({"INBOX", "STARRED"}))
    await observed_gmail.complete_run()
    gmail.relabel("old1", frozenset({"TRASH"}))
    await observed_gmail.complete_run()
    gmail.delete("old1")
    gmail.delete("old2")
    await observed_gmail.complete_run()
    assert await _read_reported(observed_gmail) == [
        (MailKind.CHANGED, "old1"),
        (MailKind.MOVED, "old1"),
        (MailKind.REMOVED, "old1"),
        (MailKind.REMOVED, "old2"),
    ]
    changed = (await observed_gmail.read_mail_events())[0]
    assert changed.previous_folder is None, "where it lay before was not known"


async def test_old_mail_outside_the_watched_labels_is_not_remembered(postgres_url: str, tmp_path: Path) -> None:
    source = doc_source("gmail", Profile.OBSERVATION, folders=("INBOX",))
    async with open_engine(postgres_url, tmp_path, source) as engine:
        gmail = engine.mailbox
        assert isinstance(gmail, FakeGmail)
        for name, label in (("inside", "INBOX"), ("outside", "TRASH")):
            gmail.deliver(name, labels=frozenset({label}), received_at=START - timedelta(days=2), in_history=False)
        await engine.complete_run()
        for name, label in (("inside", "INBOX"), ("outside", "TRASH")):
            gmail.relabel(name, frozenset({label, "STARRED"}))
        await engine.complete_run()
        assert [row["message_id"] for row in await engine.read_rows("message")] == ["inside"]
        gmail.delete("inside")
        gmail.delete("outside")
        await engine.complete_run()
        assert await _read_reported(engine) == [(MailKind.REMOVED, "inside")]


async def test_what_a_narrower_relist_does_not_reach_is_not_taken_for_old_mail(observed_gmail: Engine) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    await observed_gmail.complete_run()
    gmail.deliver("missed", received_at=START + timedelta(minutes=1), in_history=False)
    await observed_gmail.change_source(relist_from=START + timedelta(minutes=5), relist_number=1)
    await _full(observed_gmail)
    assert await observed_gmail.read_rows("message") == []
    await observed_gmail.change_source(relist_from=START, relist_number=2)
    await _full(observed_gmail)
    assert await _read_reported(observed_gmail) == [(MailKind.RECEIVED, "missed")]


async def test_what_is_deleted_while_old_mail_is_listed_is_reported(observed_gmail: Engine) -> None:
    gmail = observed_gmail.mailbox
    assert isinstance(gmail, FakeGmail)
    gmail.page_size = 30
    for number in range(40):
        gmail.deliver(f"old{number}", received_at=START - timedelta(days=2), in_history=False)

    async def delete_listed(_: str) -> None:
        if "old15" in gmail.mails:
            gmail.delete("old15")  # newest first: it is the 25th of the first page

    gmail.meanwhile["history"] = delete_listed
    await observed_gmail.complete_run()
    await observed_gmail.complete_run()
    assert await _read_reported(observed_gmail) == [(MailKind.REMOVED, "old15")]
