import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from mailroom_sandbox.testkit.shared_server import SharedServer, ask_for_address


class Starts:
    """Counts how often it was started and stopped."""

    def __init__(self, *, failing: int = 0) -> None:
        self.started = self.stopped = 0
        self._failing = failing

    @contextmanager
    def __call__(self) -> Iterator[str]:
        self.started += 1
        if self.started <= self._failing:
            raise OSError("no room")
        yield f"127.0.0.1:{self.started}"
        self.stopped += 1


def test_it_starts_once_for_whoever_asks_and_stops_at_the_end(tmp_path: Path) -> None:
    starts = Starts()
    shared = SharedServer(tmp_path / "a", starts)
    with ThreadPoolExecutor(4) as askers:
        assert set(askers.map(ask_for_address, [shared.endpoint] * 8)) == {"127.0.0.1:1"}
    assert (starts.started, starts.stopped) == (1, 0)
    shared.close()
    assert (starts.started, starts.stopped) == (1, 1)


def test_nothing_is_started_where_nobody_asks(tmp_path: Path) -> None:
    starts = Starts()
    SharedServer(tmp_path / "a", starts).close()
    assert starts.started == 0


def test_who_asks_hears_why_it_did_not_start_and_the_next_one_tries_again(tmp_path: Path) -> None:
    shared = SharedServer(tmp_path / "a", Starts(failing=1))
    with pytest.raises(RuntimeError, match="OSError: no room"):
        ask_for_address(shared.endpoint)
    assert ask_for_address(shared.endpoint) == "127.0.0.1:2"
    shared.close()


def test_who_hangs_up_in_the_middle_keeps_no_other_one_waiting(tmp_path: Path) -> None:
    shared = SharedServer(tmp_path / "a", Starts())
    with socket.socket(socket.AF_UNIX) as before_the_key:
        before_the_key.connect(shared.endpoint[0])
    with Client(shared.endpoint[0], "AF_UNIX", authkey=shared.endpoint[1]):
        pass  # and asks nothing
    with pytest.raises(AuthenticationError):
        ask_for_address((shared.endpoint[0], b"another run's"))
    assert ask_for_address(shared.endpoint) == "127.0.0.1:1"
    shared.close()
