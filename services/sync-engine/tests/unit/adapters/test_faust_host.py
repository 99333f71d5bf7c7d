"""The recovery of the coalescer's table, which nobody awaits: what fails in it has to end the process."""

from types import SimpleNamespace
from typing import Any

import faust
import pytest

from sync_engine.adapters.faust_host import FaustWindows


class FakeTable(dict[bytes, bytes]):
    changelog_topic = SimpleNamespace(get_topic_name=lambda: "pending-changelog")
    recovered: Any = None  # Any: the callback as Faust keeps it

    def on_recover(self, callback: Any) -> None:
        self.recovered = callback


class FakeApp:
    """A Faust app, as far as the windows look at one."""

    def __init__(self) -> None:
        self.table = FakeTable()
        self.crashes: list[BaseException] = []
        self.producer = SimpleNamespace(_ensure_producer=lambda: SimpleNamespace(partitions_for=self._find_partitions))

    def Table(self, *_: object, **__: object) -> FakeTable:  # noqa: N802  # Faust's name
        return self.table

    async def crash(self, error: BaseException) -> None:
        self.crashes.append(error)

    async def _find_partitions(self, topic: str) -> set[int]:
        return {0}


@pytest.fixture
def app() -> FakeApp:
    return FakeApp()


@pytest.fixture
def windows(app: FakeApp) -> FaustWindows:
    stand_in: Any = app  # Any: stands for the Faust app
    faust_app: faust.App = stand_in
    return FaustWindows(faust_app, "notifications")


async def test_a_changelog_value_that_is_no_window_ends_the_process(app: FakeApp, windows: FaustWindows) -> None:
    app.table[b"s"] = b"garbage"
    windows.on_recover(lambda: print(list(windows.list_windows())))
    await app.table.recovered()
    assert [type(error).__name__ for error in app.crashes] == ["JSONDecodeError"]


async def test_a_recovered_table_is_announced_once(app: FakeApp, windows: FaustWindows) -> None:
    recoveries: list[str] = []
    windows.on_recover(lambda: recoveries.append("recovered"))
    await app.table.recovered()
    assert recoveries == ["recovered"]
    assert app.crashes == []
