"""uvicorn's protocol for HTTP/1.1 with two limits that it lacks: on a request's time to arrive, and on its head's size.

Without them a connection that sends nothing, a drop at a time, or a header without end is kept for as long as its
client likes.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Our requests are a few KB; webhook-gateway answers a slow body itself, and sooner.
REQUEST_WITHIN_S = 20.0
MAX_HEAD_BYTES = 64 * 1024


class LimitedHttpProtocol(HttpToolsProtocol):
    """Counts from the connection's begin, or on a connection that was kept from the first byte of the next request."""

    _must_be_there: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        if self._must_be_there is None:
            self._await_request()
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._stop_waiting()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._must_be_there = self.loop.call_later(REQUEST_WITHIN_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._must_be_there is not None:
            self._must_be_there.cancel()
            self._must_be_there = None
