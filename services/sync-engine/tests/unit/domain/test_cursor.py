"""How a cursor moves within a round, and what it falls back to."""

from datetime import UTC, datetime, timedelta

from sync_engine.domain.cursor import Cursor

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def test_a_round_from_nothing_keeps_its_start_over_pages_and_batches() -> None:
    cursor = Cursor(scope="inbox").stay_on_page(NOON).advance_to_page("p2", LATER).stay_on_page(LATER)
    assert (cursor.page_token, cursor.relist_started_at) == ("p2", NOON)
    assert cursor.finish_round("t1") == Cursor(scope="inbox", position="t1")


def test_a_batch_that_is_not_the_last_leaves_position_and_page_token_as_they_are() -> None:
    cursor = Cursor(scope="inbox", position="t1", page_token="p2", version=4)
    assert cursor.stay_on_page(NOON) == cursor


def test_a_round_from_a_position_has_no_start_to_compare_with() -> None:
    assert Cursor(scope="inbox", position="t1").advance_to_page("p2", NOON).relist_started_at is None


def test_a_refused_page_token_goes_back_to_the_beginning_of_its_round() -> None:
    cursor = Cursor(scope="inbox", page_token="p2", relist_started_at=NOON, version=2)
    assert cursor.restart_round() == Cursor(scope="inbox", relist_started_at=NOON, version=2)


def test_a_refused_position_begins_a_new_round_from_nothing() -> None:
    cursor = Cursor(scope="inbox", position="t1", page_token="p2", version=2)
    assert cursor.restart_from_nothing() == Cursor(scope="inbox", version=2)


def test_only_a_stored_cursor_without_a_position_is_in_its_first_round() -> None:
    assert not Cursor(scope="relist").is_in_first_round
    assert Cursor(scope="relist", version=1).is_in_first_round
    assert not Cursor(scope="relist", version=2, position="done").is_in_first_round
