"""The ids of events are derived from their facts: a repeat has the same id, and another event another one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sync_harness import doc_source

from mailroom_common.events import MailEvent, MailKind
from mailroom_common.providers.types import FollowUpFlag, MessageSummary
from sync_engine.domain.mail_events import map_attachment_event, map_mail_event
from sync_engine.domain.message_records import KnownMessage, MessageState, ProcessedMessage, StoredPart
from sync_engine.domain.watched_folders import MessageLocation

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
SOURCE = doc_source(doc_source_id="s")
SUMMARY = MessageSummary(
    message_id="m",
    version="1",
    received_at=NOON - timedelta(hours=2),
    modified_at=NOON,
    sender_address="A@Mail.Example",
)
INBOX, ARCHIVE = MessageLocation("f-inbox", "Inbox"), MessageLocation("f-archive", "Archive")
KNOWN = KnownMessage("m", MessageState.OBSERVED, "f-inbox", "1", folder="Inbox")


def event(
    kind: MailKind,
    summary: MessageSummary = SUMMARY,
    location: MessageLocation | None = INBOX,
    known: KnownMessage | None = KNOWN,
    now: datetime = NOON,
) -> MailEvent:
    return map_mail_event(SOURCE, kind, summary, location, known, now)


def test_a_mail_is_received_and_removed_once_whatever_its_version() -> None:
    other = replace(SUMMARY, version="2", modified_at=LATER)
    for kind in (MailKind.RECEIVED, MailKind.REMOVED):
        assert event(kind).event_id == event(kind, other, ARCHIVE, now=LATER).event_id


def test_a_mail_that_was_recovered_as_it_was_shows_and_is_removed_anew() -> None:
    first, second = (replace(KNOWN, last_seen_at=at) for at in (NOON, LATER))
    assert event(MailKind.REMOVED, known=first).event_id != event(MailKind.REMOVED, known=second).event_id
    back = [
        event(MailKind.CHANGED, known=replace(known, state=MessageState.REMOVED)).event_id for known in (first, second)
    ]
    assert len({event(MailKind.CHANGED).event_id, *back}) == 3


def test_an_event_says_the_folder_by_its_id_and_by_its_name_where_it_has_one() -> None:
    named, nameless, nowhere = (
        event(MailKind.MOVED, location=at) for at in (ARCHIVE, MessageLocation("f-x", ""), None)
    )
    assert [(one.folder_id, one.folder) for one in (named, nameless, nowhere)] == [
        ("f-archive", "Archive"),
        ("f-x", None),
        (None, None),
    ]


def test_each_version_and_each_folder_is_a_change_of_its_own() -> None:
    ids = {
        event(MailKind.CHANGED).event_id,
        event(MailKind.CHANGED, replace(SUMMARY, version="2")).event_id,
        event(MailKind.MOVED).event_id,
        event(MailKind.MOVED, location=ARCHIVE).event_id,
        event(MailKind.RECEIVED).event_id,
    }
    assert len(ids) == 5


def test_a_repeat_later_has_the_same_id() -> None:
    assert (
        event(MailKind.MOVED, location=ARCHIVE, now=LATER).event_id == event(MailKind.MOVED, location=ARCHIVE).event_id
    )


def test_an_event_has_the_providers_time_and_a_removal_ours() -> None:
    assert event(MailKind.RECEIVED).occurred_at == SUMMARY.received_at
    assert event(MailKind.CHANGED).occurred_at == SUMMARY.modified_at
    assert event(MailKind.REMOVED, now=LATER).occurred_at == LATER


def test_only_a_move_or_a_removal_names_the_previous_folder() -> None:
    moved, removed = event(MailKind.MOVED, location=ARCHIVE), event(MailKind.REMOVED, location=None)
    for one in (moved, removed):
        assert (one.previous_folder_id, one.previous_folder) == ("f-inbox", "Inbox")
    changed, nameless = event(MailKind.CHANGED), event(MailKind.MOVED, known=replace(KNOWN, folder=""))
    assert (changed.previous_folder_id, changed.previous_folder) == (None, None)
    assert nameless.previous_folder is None


def test_an_event_says_who_sent_the_mail_and_how_its_user_marked_it() -> None:
    marked = event(MailKind.CHANGED, replace(SUMMARY, sender_name="Ada Alder", flag=FollowUpFlag.FLAGGED))
    assert (marked.from_name, marked.from_address, marked.flag) == ("Ada Alder", "A@Mail.Example", "flagged")


def test_without_headers_it_is_unknown_whether_a_mail_is_a_newsletter() -> None:
    assert (event(MailKind.RECEIVED).newsletter, event(MailKind.RECEIVED).automated) == (None, None)
    bulk = event(MailKind.RECEIVED, replace(SUMMARY, headers={"list-id": "<news>"}))
    assert (bulk.newsletter, bulk.automated) == (True, False)
    assert bulk.from_domain == "mail.example"


def test_an_attachment_has_one_event_however_often_it_is_stored() -> None:
    part = StoredPart(
        part_path="1",
        attachment_id="a",
        filename="invoice.pdf",
        content_type="application/pdf",
        size_bytes=9,
        content_sha256="ab",
        blob_key="documents/a.pdf",
    )
    message = ProcessedMessage(summary=SUMMARY, state=MessageState.OPEN, folder="Inbox", parts=(part,))
    first, again = (map_attachment_event(SOURCE, message, part, now) for now in (NOON, LATER))
    assert first.event_id == again.event_id
    assert (first.blob_key, first.folder, first.message_id) == ("documents/a.pdf", "Inbox", "m")
