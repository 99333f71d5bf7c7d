"""What is remembered of an interrupted page: by revision, for that page and watch only, and no more than so much."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest
from sync_harness import doc_source

from mailroom_common.errors import Throttled
from mailroom_common.events import DocSource, SyncReason
from mailroom_common.providers.ports import RELIST_SCOPE, MailReader
from mailroom_common.providers.types import Change, ChangeKind, MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import SyncState
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.domain.watched_folders import FolderWatch
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.handlers.unfinished_pages import UnfinishedPages

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WATCH = FolderWatch({})
CURSOR = Cursor(scope="f-inbox", position="p1")
CHANGE = Change(ChangeKind.PRESENT, "m1", MessageSummary(message_id="m1", version="v1"))


def sync_run(source: DocSource | None = None) -> SyncRun:
    source = source or doc_source()
    return SyncRun(
        source=source,
        mailbox=build_mailbox(source),
        provider=cast("MailReader", None),
        reasons=frozenset({SyncReason.NOTIFICATION}),
        state=SyncState(source_state="active"),
        started_at=NOON,
        timings=SyncTimings(),
    )


def interrupt_page(
    pages: UnfinishedPages, run: SyncRun, cursor: Cursor = CURSOR, changes: Sequence[Change] = (CHANGE,)
) -> None:
    with suppress(Throttled), pages.continue_page(run, WATCH, cursor) as progress:
        progress.record_rowless(changes)
        raise Throttled("429")


def is_remembered(
    pages: UnfinishedPages,
    run: SyncRun,
    cursor: Cursor = CURSOR,
    watch: FolderWatch = WATCH,
    change: Change = CHANGE,
) -> bool:
    with suppress(Throttled), pages.continue_page(run, watch, cursor) as progress:
        known = progress.is_processed(change)
        raise Throttled("429")
    return known


def test_what_was_processed_of_an_interrupted_page_is_passed_over_when_the_page_is_listed_again() -> None:
    pages, run = UnfinishedPages(), sync_run()
    interrupt_page(pages, run)
    assert is_remembered(pages, run)
    assert is_remembered(pages, run), "also after another interruption"


def test_a_finished_page_is_forgotten() -> None:
    pages, run = UnfinishedPages(), sync_run()
    interrupt_page(pages, run)
    with pages.continue_page(run, WATCH, CURSOR):
        pass
    assert not is_remembered(pages, run)


@pytest.mark.parametrize(
    ("listed", "again", "is_known"),
    [
        (CHANGE, replace(CHANGE, summary=MessageSummary(message_id="m1", version="v2")), False),
        (CHANGE, Change(ChangeKind.REMOVED, "m1"), False),
        (Change(ChangeKind.REMOVED, "m1"), Change(ChangeKind.REMOVED, "m1"), True),
        (Change(ChangeKind.PRESENT, "m1", revision="7"), Change(ChangeKind.PRESENT, "m1", revision="7"), True),
        (Change(ChangeKind.PRESENT, "m1", revision="7"), Change(ChangeKind.PRESENT, "m1", revision="8"), False),
        (Change(ChangeKind.PRESENT, "m1"), Change(ChangeKind.PRESENT, "m1"), False),
    ],
)
def test_a_message_is_passed_over_only_in_the_revision_that_was_processed(
    listed: Change, again: Change, is_known: bool
) -> None:
    pages, run = UnfinishedPages(), sync_run()
    interrupt_page(pages, run, changes=[listed])
    assert is_remembered(pages, run, change=again) is is_known


def test_another_page_another_watch_and_a_newer_source_begin_anew() -> None:
    run = sync_run()
    others = [
        (run, replace(CURSOR, page_token="t2"), WATCH),
        (run, replace(CURSOR, position="p2"), WATCH),
        (run, CURSOR, FolderWatch({}, ("Invoices",))),
        (sync_run(replace(run.source, version=2)), CURSOR, WATCH),
    ]
    for other_run, cursor, watch in others:
        pages = UnfinishedPages()
        interrupt_page(pages, run)
        assert not is_remembered(pages, other_run, cursor, watch)


def test_a_re_list_has_no_revisions_and_remembers_nothing_of_an_earlier_one() -> None:
    pages, run = UnfinishedPages(), sync_run()
    change = Change(ChangeKind.PRESENT, "m1")
    cursor = Cursor(scope=RELIST_SCOPE, relist_started_at=NOON)
    interrupt_page(pages, run, cursor, [change])
    assert is_remembered(pages, run, cursor, change=change)
    assert not is_remembered(pages, run, replace(cursor, relist_started_at=NOON.replace(hour=13)), change=change)


def test_the_oldest_page_is_dropped_first() -> None:
    pages, runs = UnfinishedPages(max_pages=2), [sync_run() for _ in range(3)]
    for run in runs:
        interrupt_page(pages, run)
    assert [is_remembered(pages, run) for run in (runs[1], runs[2], runs[0])] == [True, True, False]
