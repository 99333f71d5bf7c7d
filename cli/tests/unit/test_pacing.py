import asyncio

import pytest

from mailroom_cli.pacing import Pacer, Progress


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("asyncio.sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("rate", "seconds"), [(10, 1.9), (0.5, 38), (0, 0)])
def test_turns_are_held_to_the_rate(monkeypatch: pytest.MonkeyPatch, rate: float, seconds: float) -> None:
    clock = Clock(monkeypatch)
    pacer = Pacer(rate, clock)

    async def take_turns() -> None:
        for _ in range(20):
            await pacer.wait_turn()

    asyncio.run(take_turns())
    assert clock.now == pytest.approx(seconds)


def test_time_that_nobody_used_is_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pacer = Pacer(1, clock)
    clock.now = 100.0

    async def take_turns() -> None:
        await pacer.wait_turn(5)
        await pacer.wait_turn()

    asyncio.run(take_turns())
    assert clock.now == pytest.approx(105)


def test_progress_of_an_unknown_whole_says_what_is_done() -> None:
    progress = Progress(None, "events", clock=lambda: 0.0)
    progress.advance(50)
    assert progress.describe().strip().startswith("50 events")


def test_progress_says_how_much_of_what_is_done() -> None:
    progress = Progress(200, "records", clock=lambda: 0.0)
    progress.counts["sent"] += 30
    progress.advance(50)
    assert progress.describe().startswith(" 25 % 50 of 200 records")
    assert "30 sent" in progress.describe()
