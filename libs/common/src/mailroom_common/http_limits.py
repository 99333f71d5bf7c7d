"""uvicorn's HTTP/1.1 protocol with the limits that it lacks: what time and memory a slow or hostile client may take.

Without them a connection that sends nothing, a drop at a time, a header or trailer without end, or requests faster than
it takes their answers is kept for as long as its client likes, and what it sent is held in memory.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Our requests are a few KB; webhook-gateway answers a slow body itself, and sooner.
REQUEST_TIMEOUT_S = 20.0
# What came of a body lengthens that time at this rate: 25 MB may come over a line of half a megabit in 13 minutes, and
# whoever sends nothing more is cut off by what it has sent so far.
MIN_BODY_BYTES_PER_S = 32 * 1024
# Of a request without its body: head, trailers, and the frames of its chunks.
MAX_OVERHEAD_BYTES = 64 * 1024
# Sent ahead on one connection while an earlier one is answered.
MAX_PIPELINED = 32
# How long a full send buffer waits for a client that does not read.
WRITE_TIMEOUT_S = 30.0


class LimitedHttpProtocol(HttpToolsProtocol):
    """A request's time counts from the connection's begin, on a connection that was kept from its first byte."""

    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _overhead_bytes = 0
    _body_bytes = 0
    _request_began_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._start_request_timer()

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._start_request_timer()  # also where no request begins: a stray line end stops uvicorn's own timer
        self._overhead_bytes += len(data)
        super().data_received(data)
        if self._overhead_bytes > MAX_OVERHEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._start_request_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests ahead of their answers")  # ends the parsing: uvicorn answers 400
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._overhead_bytes = 0
        self._stop_request_timer()
        super().on_message_complete()

    def pause_writing(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_TIMEOUT_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_request_timer()
        self.resume_writing()  # uvicorn resumes its own flow only: our timer would hold on to what is gone
        super().connection_lost(exc)

    def _start_request_timer(self) -> None:
        if self._request_timer is None:
            self._body_bytes, self._request_began_s = 0, self.loop.time()
            self._request_timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._close_unless_body_comes)

    def _close_unless_body_comes(self) -> None:
        allowed_s = REQUEST_TIMEOUT_S + self._body_bytes / MIN_BODY_BYTES_PER_S
        ends_in_s = self._request_began_s + allowed_s - self.loop.time()
        if ends_in_s <= 0:
            self.transport.close()
        else:
            self._request_timer = self.loop.call_later(ends_in_s, self._close_unless_body_comes)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None
