"""The HTTP side of a service process: health, metrics, problem documents, and a server that stops gracefully."""

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
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
from mailroom_common.health import Health, HealthMirror
from mailroom_common.http_limits import LimitedHttpProtocol
from mailroom_common.logs import get_logger
from mailroom_common.metrics import PROCESS_CLOCK
from mailroom_common.process import Process
from mailroom_common.settings import ProcessSettings

log = get_logger()

# In-flight requests get this long after a stop; streams that never end are cut then.
_GRACEFUL_SHUTDOWN_S = 3

# Connections that wait to be accepted. Those of a flood on one port take nothing from the other.
_BACKLOG = 2048
_HEALTH_BACKLOG = 16
# Age of what the health port answers; ready a second later harms nobody.
_HEALTH_REFRESH_S = 1.0

# The largest request that any of our APIs needs is a few KB; `body_limits` has the exceptions.
_MAX_BODY_BYTES = 256 * 1024

# pydantic's words for what is no UUID.
_MALFORMED_ID = {"uuid_parsing", "uuid_type"}


# pydantic names what a parser stumbled over; a caller has to know what is wanted.
_DATE_WANTED = "a date is needed, as 2026-12-27"
_TIME_WANTED = "a time is needed, as 2026-12-27T09:30:00Z"
_NUMBER_WANTED = "a number is needed, as 1234.56"
_WANTED = {
    "date_from_datetime_parsing": _DATE_WANTED,
    "date_from_datetime_inexact": _DATE_WANTED,
    "date_parsing": _DATE_WANTED,
    "datetime_parsing": _TIME_WANTED,
    "datetime_from_date_parsing": _TIME_WANTED,
    "timezone_aware": "a time with its zone is needed, as 2026-12-27T09:30:00Z",
    "bool_parsing": "true or false is needed",
    "decimal_parsing": _NUMBER_WANTED,
    "decimal_type": _NUMBER_WANTED,
    "extra_forbidden": "there is no such field",
    "json_invalid": "the body is no JSON",
    "model_attributes_type": "a JSON object is needed, sent as application/json",
}
# Who reads a regular expression has still to guess what it is of.
_WANTED_OF_PATTERN = {
    r"^[A-Z]{3}$": "a currency is needed, as EUR",
    r"^[A-Za-z0-9]{12}$": "an ISIN is needed, as DE0008404005",
    r"^[0-9a-f]{64}$": "a SHA-256 is needed, as 64 hex digits",
    r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$": "a time of day is needed, as 09:30 or 09:30:15",
    r"^[^@\s<>]+@[^@\s<>]+$": "an address is needed, as ap@company.example",
    r"^([^@\s<>,]+@[^@\s<>,]+|@?[^@\s<>,.]+(\.[^@\s<>,.]+)+)$": (
        "an address or a domain is needed, as billing@supplier.example or supplier.example"
    ),
}
# A member of an enum as Python shows it, `<Profile.INVOICE: 'invoice'>`: its value is what a caller sends.
_MEMBER = re.compile(r"<\w{1,80}\.\w{1,80}: ('[^']{0,80}')>")


class _BodyTooLarge(HTTPException):
    """An HTTPException, since FastAPI takes any other error of reading a body for one of its JSON."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, "The body is too large")
        self.limit = limit


def describe_mistake(mistake: Mapping[str, Any]) -> str:
    """What is wrong with a value, of an entry of pydantic's `errors()`. Any: pydantic's."""
    by_pattern = _WANTED_OF_PATTERN.get(str((mistake.get("ctx") or {}).get("pattern")))
    told = by_pattern or _WANTED.get(mistake["type"]) or str(mistake["msg"]).removeprefix("Value error, ")
    if mistake["type"] == "too_short" and mistake["ctx"].get("field_type") == "Value":  # a secret's
        told = f"at least {mistake['ctx']['min_length']} characters are needed"
    return _MEMBER.sub(r"\1", told)


def _list_steps(mistake: Mapping[str, Any]) -> list[str]:
    """Of what is no JSON pydantic gives the letter where it ends, as if it were a field of that name."""
    steps = mistake["loc"][:1] if mistake["type"] == "json_invalid" else mistake["loc"]
    return [str(step) for step in steps]


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


def build_service_app(
    process: Process,
    *,
    title: str,
    invalid_value_errors: Sequence[type[Exception]] = (),
    body_limits: Mapping[tuple[str, str], int] | None = None,
) -> FastAPI:
    """An app whose every error is a problem document, with the health routes unless they have a port of their own.

    `invalid_value_errors` are what the service's database raises for a value that it cannot hold
    (`postgres.INVALID_VALUE_ERRORS`): named by the caller, so that a service without a database loads no driver.
    `body_limits` are the bytes that calls (method, path) take which have a larger body than all others; `{}` in a path
    stands for one id.
    """
    # The description needs no key: it says how to call, and nothing of what is behind it.
    app = _ServiceApp(title=title, openapi_url="/openapi.json", docs_url=None, redoc_url=None)
    app.state.body_limits = dict(body_limits or {})

    if not process.has_health_port:
        _add_health_routes(app, process.stopping, process.health)

    _add_error_handlers(app, invalid_value_errors)
    return app


def _add_error_handlers(app: FastAPI, invalid_value_errors: Sequence[type[Exception]]) -> None:
    @app.exception_handler(HTTPProblem)
    async def answer_problem(_request: Request, error: HTTPProblem) -> Response:
        return error.build_response()

    @app.exception_handler(RequestValidationError)
    async def answer_invalid_request(_request: Request, error: RequestValidationError) -> Response:
        # Without the input: an answer does not repeat what may be a secret.
        mistakes = [{"loc": _list_steps(at), "msg": describe_mistake(at)} for at in error.errors()]
        malformed = [str(at["loc"][-1]) for at in error.errors() if at["type"] in _MALFORMED_ID]
        if malformed:
            named = ", ".join(malformed)
            return HTTPProblem(400, "Malformed id", f"{named}: a UUID is needed.", errors=mistakes).build_response()
        return HTTPProblem(422, "The request is not valid", errors=mistakes).build_response()

    @app.exception_handler(_BodyTooLarge)
    async def answer_body_too_large(_request: Request, error: _BodyTooLarge) -> Response:
        takes = f"This call takes {error.limit:,} bytes at most."
        return HTTPProblem(error.status_code, error.detail, takes).build_response()

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

    kinds: tuple[type[Exception], ...] = (OverflowError, *invalid_value_errors)
    for kind in kinds:
        app.add_exception_handler(kind, _answer_invalid_value)

    @app.exception_handler(Exception)
    async def answer_failure(_request: Request, _error: Exception) -> Response:
        return HTTPProblem(500, "Something failed here").build_response()  # starlette raises it again: see _ServiceApp


async def _answer_invalid_value(request: Request, error: Exception) -> Response:
    # A NUL in an id, a date beyond the calendar: well-formed for HTTP, and nothing that a database can hold.
    log.warning("request_value_not_storable", path=request.url.path, error=type(error).__name__)
    return HTTPProblem(422, "The request is not valid", "A value of it cannot exist here.").build_response()


def _add_health_routes(app: FastAPI, stopping: asyncio.Event, health: Health) -> None:
    @app.get("/livez", include_in_schema=False)
    async def answer_livez() -> Response:
        return _answer_health(health.failing_liveness())

    @app.get("/readyz", include_in_schema=False)
    async def answer_readyz() -> Response:
        complaints = {"process": "stopping"} if stopping.is_set() else {}
        return _answer_health(complaints | health.failing_readiness(), health.read_details())

    @app.get("/metrics", include_in_schema=False)
    async def answer_metrics() -> Response:
        PROCESS_CLOCK.set_to_current_time()
        return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})


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
            limit = _find_body_limit(self.state.body_limits, scope["method"], scope["path"])
            await super().__call__(scope, _limit_body(scope, receive, limit), send_and_observe)
        except Exception:
            if not is_answered:
                raise
            # Logged here and not left to uvicorn, which would close a connection that a proxy keeps open.
            log.exception("request_failed", method=scope["method"], path=scope["path"])


def _find_body_limit(limits: Mapping[tuple[str, str], int], method: str, path: str) -> int:
    steps = path.split("/")
    for (of_method, of_path), limit in limits.items():
        wanted = of_path.split("/")
        is_path = len(wanted) == len(steps) and all(
            one in ("{}", step) for one, step in zip(wanted, steps, strict=True)
        )
        if of_method == method and is_path:
            return limit
    return _MAX_BODY_BYTES


def _limit_body(scope: Scope, receive: Receive, limit: int) -> Receive:
    """`receive`, ending in 413 once a body is larger than we take, before it is held in memory."""
    announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    size = 0
    too_large = _BodyTooLarge(limit)

    async def receive_limited() -> Message:
        nonlocal size
        if announced.isdigit() and int(announced) > limit:
            raise too_large
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise too_large
        return message

    return receive_limited


def _answer_health(complaints: dict[str, str], details: dict[str, object] | None = None) -> Response:
    shown = {"details": details} if details else {}
    if complaints:
        return JSONResponse({"status": "failing", "reasons": complaints, **shown}, 503)
    return JSONResponse({"status": "ok", **shown})


async def serve_service_app(app: ASGIApp, settings: ProcessSettings, process: Process) -> None:
    """Serve the app of `build_service_app` until the process stops, with the health routes on their port if they have
    one. Returns and raises as `serve_app` does; health is answered until the last request in flight has its response.
    """
    async with AsyncExitStack() as stack:
        if settings.health_port is not None:
            await stack.enter_async_context(_serve_health(settings.http_host, settings.health_port, process))
        await serve_app(app, host=settings.http_host, port=settings.http_port, stopping=process.stopping)


@asynccontextmanager
async def _serve_health(host: str, port: int, process: Process) -> AsyncIterator[None]:
    """In a thread with a loop of its own: neither a flood of requests nor a long piece of work delays a probe."""
    mirror = HealthMirror(process.health)
    app = FastAPI(title=process.name, openapi_url=None)
    _add_health_routes(app, process.stopping, mirror)
    loop, ended = asyncio.new_event_loop(), asyncio.Event()
    with _open_listener(host, port, _HEALTH_BACKLOG, "MAILROOM_HEALTH_PORT") as listener:
        serving = _serve_on_listener(app, listener, ended)
        thread = threading.Thread(target=loop.run_until_complete, args=(serving,), name="health", daemon=True)
        thread.start()
        refreshing = asyncio.create_task(_refresh_repeatedly(mirror))
        try:
            yield
        finally:
            refreshing.cancel()
            loop.call_soon_threadsafe(ended.set)
            await asyncio.to_thread(thread.join)
            loop.close()


async def _refresh_repeatedly(mirror: HealthMirror) -> None:
    while True:
        mirror.refresh()
        await asyncio.sleep(_HEALTH_REFRESH_S)


async def serve_app(app: ASGIApp, *, host: str, port: int, stopping: asyncio.Event) -> None:
    """Serve until `stopping`, then let requests in flight end and cut what is left.

    Raises:
        Fatal: the address cannot be had.
    """
    with _open_listener(host, port, _BACKLOG, "MAILROOM_HTTP_PORT") as listener:
        await _serve_on_listener(app, listener, stopping)


async def _serve_on_listener(app: ASGIApp, listener: socket.socket, stopping: asyncio.Event) -> None:
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


def _open_listener(host: str, port: int, backlog: int, setting: str) -> socket.socket:
    # Bound here, since uvicorn ends the process by SystemExit in the middle of everything when it cannot.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=backlog)
    except OSError as error:
        raise Fatal(f"MAILROOM_HTTP_HOST, {setting}: cannot listen on {host}:{port}: {error.strerror}") from error
