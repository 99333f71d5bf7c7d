from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import cast

from fake_mailbox import NOON

from sync_engine.handlers.folder_rounds import FolderRounds
from sync_engine.handlers.sync_run import SyncRun


def slice_of(doc_source_id: str, at: datetime = NOON, *, began_at: datetime = NOON) -> SyncRun:
    """What a round is known by."""
    run = SimpleNamespace(
        doc_source_id=doc_source_id,
        started_at=at,
        full_round=SimpleNamespace(started_at=began_at),
        source=SimpleNamespace(version=1),
    )
    return cast("SyncRun", run)


def test_a_slice_goes_on_with_the_round_of_the_one_before_and_another_full_run_does_not() -> None:
    rounds = FolderRounds()
    first = rounds.find_round(slice_of("a"))
    assert rounds.find_round(slice_of("a")) is first
    assert rounds.find_round(slice_of("a", began_at=NOON + timedelta(minutes=15))) is not first


def test_more_mailboxes_than_can_be_remembered_take_no_round_from_those_under_way() -> None:
    rounds = FolderRounds(max_rounds=2)
    begun = {name: rounds.find_round(slice_of(name)) for name in "ab"}
    for minutes in range(1, 50):
        at = NOON + timedelta(minutes=minutes)
        for name in "cdab":
            found = rounds.find_round(slice_of(name, at))
            assert (found is begun.get(name)) == (name in "ab")
    rounds.end_round(slice_of("a"))
    third = rounds.find_round(slice_of("c"))
    assert rounds.find_round(slice_of("c")) is third, "it has the place of one that ended"


def test_a_round_that_nobody_continues_gives_up_its_place() -> None:
    rounds = FolderRounds(max_rounds=1)
    rounds.find_round(slice_of("deleted"))
    later = NOON + timedelta(hours=2)
    found = rounds.find_round(slice_of("a", later))
    assert rounds.find_round(slice_of("a", later)) is found
