from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from mailroom_common.providers.types import Change, ChangeKind
from sync_engine.handlers.change_batches import OldMailBatches, cut_batches


def build_changes(count: int, *, received_before: datetime | None = None) -> list[Change]:
    return [Change(ChangeKind.PRESENT, str(number), received_before=received_before) for number in range(count)]


CUTS = [cut_batches, OldMailBatches().cut]


@dataclass
class Clock:
    now_s: float = 0.0


def cut_at_speed(counts: Sequence[int], seconds_per_message: float) -> list[list[int]]:
    """How large the batches of pages with so many changes are where each message takes so long."""
    clock = Clock()
    batches = OldMailBatches(clock=lambda: clock.now_s)
    sizes: list[list[int]] = []
    for count in counts:
        sizes.append([])
        for batch in batches.cut(build_changes(count)):
            sizes[-1].append(len(batch))
            clock.now_s += len(batch) * seconds_per_message
    return sizes


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("count", [0, 1, 7, 50, 51, 203])
def test_each_change_is_in_one_batch_in_its_order(
    cut: Callable[[Sequence[Change]], Sequence[Sequence[Change]]], count: int
) -> None:
    changes = build_changes(count)
    assert [change for batch in cut(changes) for change in batch] == changes


def test_batches_of_old_mail_grow_while_they_take_less_than_a_second() -> None:
    assert cut_at_speed([34], seconds_per_message=0.01) == [[2, 4, 8, 10, 10]]


def test_batches_of_old_mail_end_at_one_message_where_each_takes_more_than_a_second() -> None:
    assert cut_at_speed([5], seconds_per_message=1.5) == [[2, 1, 1, 1]]


@pytest.mark.parametrize("cut", CUTS)
def test_ids_alone_are_one_batch(cut: Callable[[Sequence[Change]], Sequence[Sequence[Change]]]) -> None:
    changes = build_changes(203, received_before=datetime(2026, 1, 1, tzinfo=UTC))
    assert [len(batch) for batch in cut(changes)] == [203]


def test_run_knows_from_a_page_how_large_the_batches_of_the_next_one_are() -> None:
    assert cut_at_speed([24, 20], seconds_per_message=0.01)[1] == [10, 10]
