import random as randomness

from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.kafka.watermark import Watermark


def test_nothing_delivered_commits_nothing() -> None:
    assert Watermark().committable is None


def test_an_unfinished_record_holds_back_those_that_finished_after_it() -> None:
    watermark = Watermark()
    for offset in (10, 11, 12):
        watermark.add_delivered(offset)

    watermark.mark_done(12)
    watermark.mark_done(11)

    assert watermark.committable == 10
    assert watermark.uncommittable_count == 3
    watermark.mark_done(10)
    assert watermark.committable == 13
    assert watermark.uncommittable_count == 0


def test_gaps_are_stepped_over() -> None:
    """A compacted topic: 4 to 8 are gone. Counting integers would wait for them for ever."""
    watermark = Watermark()
    watermark.add_delivered(3)
    watermark.add_delivered(9)

    watermark.mark_done(3)

    assert watermark.committable == 9
    watermark.mark_done(9)
    assert watermark.committable == 10


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.randoms(), st.integers(0, 30))
def test_nothing_below_the_committable_offset_is_unfinished(
    gaps: list[int], random: randomness.Random, finished: int
) -> None:
    """Whatever order records finish in, and wherever the process dies."""
    offsets = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    watermark = Watermark()
    for offset in offsets:
        watermark.add_delivered(offset)
    order = list(offsets)
    random.shuffle(order)
    done: set[int] = set()
    last = watermark.committable
    for offset in order[:finished]:
        watermark.mark_done(offset)
        done.add(offset)
        committable = watermark.committable
        assert committable is not None
        assert last is not None
        assert all(below in done for below in offsets if below < committable)
        assert committable >= last
        last = committable
    unfinished = [offset for offset in offsets if offset not in done]
    assert watermark.committable == (unfinished[0] if unfinished else offsets[-1] + 1)
