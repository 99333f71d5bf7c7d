"""A server for all processes of a test run: the one that hands out the tests starts it, for the first that asks."""

import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path

_ADDRESS, _END = "address", "end"


class SharedServer:
    """`start` is entered when its address is asked for first, and left by `close`.

    Both happen in one thread of its own: what starts a process has to outlive it (`stack/child.py`).
    """

    def __init__(self, socket: Path, start: Callable[[], AbstractContextManager[str]]) -> None:
        self._start = start
        self._address: str | None = None
        self._key = secrets.token_bytes(16)
        self._listener = Listener(str(socket), "AF_UNIX", authkey=self._key)
        self._thread = threading.Thread(target=self._serve, name=f"shared server {socket.name}", daemon=True)
        self._thread.start()
        self.endpoint = (str(socket), self._key)  # what another process needs to ask

    def close(self) -> None:
        with Client(self.endpoint[0], "AF_UNIX", authkey=self._key) as connection:
            connection.send(_END)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        with ExitStack() as running:
            while True:
                with suppress(OSError, EOFError, AuthenticationError), self._listener.accept() as asking:
                    # Who asked may be gone in the middle of it; others still ask.
                    if asking.recv() == _END:
                        return
                    asking.send(self._start_once(running))

    def _start_once(self, running: ExitStack) -> tuple[str | None, str | None]:
        """The address, or why there is none."""
        try:
            self._address = self._address or running.enter_context(self._start())
        except Exception as error:  # noqa: BLE001  # whatever it is, the test that asked says so
            return None, f"{type(error).__name__}: {error}"
        return self._address, None


def ask_for_address(endpoint: tuple[str, bytes]) -> str:
    """Waits until the server has started."""
    socket, key = endpoint
    with Client(socket, "AF_UNIX", authkey=key) as connection:
        connection.send(_ADDRESS)
        address, refusal = connection.recv()
    if address is None:
        raise RuntimeError(f"the server that all share did not start: {refusal}")
    return str(address)
