"""Composition root of the providers: one state, three servers, one dispatcher."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from mailroom_common.web import StoppableServer
from mailroom_sandbox.provider_doubles.control import build_control_app
from mailroom_sandbox.provider_doubles.google.app import Google
from mailroom_sandbox.provider_doubles.google.oauth import write_service_account_file
from mailroom_sandbox.provider_doubles.microsoft.app import Microsoft
from mailroom_sandbox.provider_doubles.provider_state import Clock, ProviderState, build_provider_state, utc_now
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings


async def run_provider_doubles(
    settings: ProvidersSettings,
    stopping: asyncio.Event,
    *,
    ready: Callable[[ProviderState], None] = lambda _: None,
    now: Clock = utc_now,
) -> None:
    """Serves until `stopping` is set; `ready` is called once all three ports answer.

    Raises:
        OSError: a port is taken; says which.
    """
    ports = (settings.microsoft_port, settings.google_port, settings.control_port)
    sockets = [_open_listener(settings.host, port) for port in ports]
    state = build_provider_state(settings, now)
    try:
        microsoft, google = Microsoft(state), Google(state)
        write_service_account_file(state)
        tls = {"ssl_certfile": str(settings.tls_certificate), "ssl_keyfile": str(settings.tls_key)}
        control = build_control_app(state, microsoft, google)
        servers = [_build_server(microsoft.app, **tls), _build_server(google.app, **tls), _build_server(control)]
        async with asyncio.TaskGroup() as tasks:
            dispatcher = tasks.create_task(state.dispatcher.dispatch_pushes())
            for server, listening in zip(servers, sockets, strict=True):
                tasks.create_task(server.serve([listening]))
            await asyncio.gather(*(server.listening.wait() for server in servers))
            ready(state)
            await stopping.wait()
            dispatcher.cancel()
            for server in servers:
                server.request_exit()
    finally:
        await state.http.aclose()
        state.store.close()


class _Server(StoppableServer):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


def _open_listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=512)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def _build_server(app: object, **tls: str) -> _Server:
    config = uvicorn.Config(
        app,  # type: ignore[arg-type] # an ASGI application; its type has no common name
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
        timeout_keep_alive=75,  # longer than any client keeps a connection idle, as with the real services
        **tls,  # type: ignore[arg-type]
    )
    return _Server(config)
