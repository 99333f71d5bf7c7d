"""Refusals are counted by mailbox and scope until the round ends, and for no more rounds than so many."""

from types import SimpleNamespace
from typing import cast

from sync_engine.handlers.cursor_refusals import CursorRefusals
from sync_engine.handlers.sync_run import SyncRun

RUN, OTHER_RUN = (cast("SyncRun", SimpleNamespace(doc_source_id=name)) for name in ("a", "b"))


def test_refusals_are_counted_by_mailbox_and_scope_until_the_round_ends() -> None:
    refusals = CursorRefusals()
    assert [refusals.count_refusal(RUN, "inbox") for _ in range(3)] == [1, 2, 3]
    assert refusals.count_refusal(RUN, "archive") == refusals.count_refusal(OTHER_RUN, "inbox") == 1
    refusals.end_round(RUN, "inbox")
    assert refusals.count_refusal(RUN, "inbox") == 1
    assert refusals.count_refusal(RUN, "archive") == 2


def test_the_round_that_was_refused_longest_ago_is_forgotten_first() -> None:
    refusals = CursorRefusals(max_rounds=2)
    for scope in ("one", "two", "one", "three"):
        refusals.count_refusal(RUN, scope)
    assert refusals.count_refusal(RUN, "one") == 3
    assert refusals.count_refusal(RUN, "two") == 1
