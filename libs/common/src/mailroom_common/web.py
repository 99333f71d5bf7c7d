"""The HTTP side of a service process: health, metrics, problem documents, and a server that stops gracefully."""

import asyncio
import contextlib
import socket
from collections.abc import Generator, Sequence
from typing import Any, Generic, TypeVar

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mailroom_common.api_description import complete_description
from mailroom_common.errors import Fatal, Retryable
from mailroom_common.http_limits import LimitedHttpProtocol
from mailroom_common.logs import get_logger
from mailroom_common.process import Process

log = get_logger()

# In-flight requests get this long after a stop; streams that never end are cut then.
_GRACEFUL_SHUTDOWN_S = 3

# The largest request that any of our APIs needs is a few KB.
_MAX_BODY_BYTES = 256 * 1024

# pydantic's words for what is no UUID.
_MALFORMED_ID = {"uuid_parsing", "uuid_type"}


class HTTPProblem(Exception):
    """An answer by RFC 9457: raise it anywhere below a route. `extra` members stand beside the usual ones."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        **extra: object,
    ) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = headers
        self.extra = extra

    def build_response(self) -> JSONResponse:
        body: dict[str, object] = {"type": "about:blank", "title": self.title, "status": self.status}
        if self.detail is not None:
            body["detail"] = self.detail
        return JSONResponse(
            {**body, **self.extra}, self.status, headers=self.headers, media_type="application/problem+json"
        )


T = TypeVar("T")


class ListPage(BaseModel, Generic[T]):
    """One page of a list; `next_cursor` is opaque, and None on the last page."""

    items: list[T]
    next_cursor: str | None = None


def build_service_app(process: Process, *, title: str, invalid_value_errors: Sequence[type[Exception]] = ()) -> FastAPI:
    """An app with `/livez`, `/readyz` and `/metrics`, whose every error is a problem document.

    `invalid_value_errors` are what the service's database raises for a value that it cannot hold
    (`postgres.INVALID_VALUE_ERRORS`): named by the caller, so that a service without a database loads no driver.
    """
    # The description needs no key: it says how to call, and nothing of what is behind it.
    app = _ServiceApp(title=title, openapi_url="/openapi.json", docs_url=None, redoc_url=None)

    @app.get("/livez", include_in_schema=False)
    async def answer_livez() -> Response:
        return _answer_health(process.health.failing_liveness())

    @app.get("/readyz", include_in_schema=False)
    async def answer_readyz() -> Response:
        complaints = {"process": "stopping"} if process.stopping.is_set() else {}
        return _answer_health(complaints | process.health.failing_readiness(), process.health.read_details())

    @app.get("/metrics", include_in_schema=False)
    async def answer_metrics() -> Response:
        return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})

    @app.exception_handler(HTTPProblem)
    async def answer_problem(_request: Request, error: HTTPProblem) -> Response:
        return error.build_response()

    @app.exception_handler(RequestValidationError)
    async def answer_invalid_request(_request: Request, error: RequestValidationError) -> Response:
        # Without the input: an answer does not repeat what may be a secret.
        mistakes = [{"loc": [str(step) for step in at["loc"]], "msg": at["msg"]} for at in error.errors()]
        malformed = [str(at["loc"][-1]) for at in error.errors() if at["type"] in _MALFORMED_ID]
        if malformed:
            named = ", ".join(malformed)
            return HTTPProblem(400, "Malformed id", f"{named}: a UUID is needed.", errors=mistakes).build_response()
        return HTTPProblem(422, "The request is not valid", errors=mistakes).build_response()

    @app.exception_handler(HTTPException)
    async def answer_http_error(_request: Request, error: HTTPException) -> Response:
        return HTTPProblem(error.status_code, error.detail, headers=dict(error.headers or {})).build_response()

    @app.exception_handler(Retryable)
    async def answer_unavailable(_request: Request, error: Retryable) -> Response:
        # A dependency is away; the caller got 503 with `Retry-After`.
        log.warning("request_unavailable", reason=str(error))
        after = {"Retry-After": str(max(1, round(error.retry_after_s or 5)))}
        return HTTPProblem(
            503, "A dependency did not answer in time", "Try again later.", headers=after
        ).build_response()

    async def answer_invalid_value(request: Request, error: Exception) -> Response:
        # A NUL in an id, a date beyond the calendar: well-formed for HTTP, and nothing that a database can hold.
        log.warning("request_value_not_storable", path=request.url.path, error=type(error).__name__)
        return HTTPProblem(422, "The request is not valid", "A value of it cannot exist here.").build_response()

    kinds: tuple[type[Exception], ...] = (OverflowError, *invalid_value_errors)
    for kind in kinds:
        app.add_exception_handler(kind, answer_invalid_value)

    @app.exception_handler(Exception)
    async def answer_failure(_request: Request, _error: Exception) -> Response:
        return HTTPProblem(500, "Something failed here").build_response()  # starlette raises it again: see _ServiceApp

    return app


class _ServiceApp(FastAPI):
    def openapi(self) -> dict[str, Any]:  # Any: an OpenAPI document
        if self.openapi_schema is None:
            self.openapi_schema = complete_description(super().openapi())
        return self.openapi_schema

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        is_answered = False

        async def send_and_observe(message: Message) -> None:
            nonlocal is_answered
            await send(message)
            is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            await super().__call__(scope, _limit_body(scope, receive), send_and_observe)
        except Exception:
            if not is_answered:
                raise
            # Logged here and not left to uvicorn, which would close a connection that a proxy keeps open.
            log.exception("request_failed", method=scope["method"], path=scope["path"])


def _limit_body(scope: Scope, receive: Receive) -> Receive:
    """`receive`, ending in 413 once a body is larger than we take, before it is held in memory."""
    announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        if announced.isdigit() and int(announced) > _MAX_BODY_BYTES:
            raise HTTPException(413, "The body is too large")
        message = await receive()
        size += len(message.get("body", b""))
        if size > _MAX_BODY_BYTES:
            raise HTTPException(413, "The body is too large")
        return message

    return receive_limited


def _answer_health(complaints: dict[str, str], details: dict[str, object] | None = None) -> Response:
    shown = {"details": details} if details else {}
    if complaints:
        return JSONResponse({"status": "failing", "reasons": complaints, **shown}, 503)
    return JSONResponse({"status": "ok", **shown})


async def serve_app(app: ASGIApp, *, host: str, port: int, stopping: asyncio.Event) -> None:
    """Serve until `stopping`, then let requests in flight end and cut what is left.

    Raises:
        Fatal: the address cannot be had.
    """
    config = uvicorn.Config(
        app,
        http=LimitedHttpProtocol,
        access_log=False,  # it would hold query strings, and those hold tickets, codes and tokens
        log_config=None,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACEFUL_SHUTDOWN_S,
    )
    with _open_listener(host, port) as listener:
        server = StoppableServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            server.request_exit()
            await serving


class StoppableServer(uvicorn.Server):
    """uvicorn without its signal handlers and its polling: it serves until `request_exit`."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._exit_requested = asyncio.Event()

    def request_exit(self) -> None:
        self.should_exit = True
        self._exit_requested.set()

    async def main_loop(self) -> None:
        # uvicorn's own wakes ten times a second to look at `should_exit`. A tick whose number is a multiple of ten
        # renews the Date header, which has seconds.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._exit_requested.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # signals belong to the process (`process.py`), not to one of its parts


def _open_listener(host: str, port: int) -> socket.socket:
    # Bound here, since uvicorn ends the process by SystemExit in the middle of everything when it cannot.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise Fatal(
            f"MAILROOM_HTTP_HOST, MAILROOM_HTTP_PORT: cannot listen on {host}:{port}: {error.strerror}"
        ) from error
