"""Composition root of the providers: one world, three servers, one courier."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from mailroom_sandbox.providers.control import control_app
from mailroom_sandbox.providers.google.app import Google
from mailroom_sandbox.providers.google.service_account import write_service_account_file
from mailroom_sandbox.providers.microsoft.app import Microsoft
from mailroom_sandbox.providers.settings import ProvidersSettings
from mailroom_sandbox.providers.world import Clock, World, build_world, utc_now


async def run(
    settings: ProvidersSettings,
    stopping: asyncio.Event,
    *,
    ready: Callable[[World], None] = lambda _: None,
    now: Clock = utc_now,
) -> None:
    """Serves until `stopping` is set; `ready` is called once all three ports answer."""
    world = build_world(settings, now)
    try:
        microsoft, google = Microsoft(world), Google(world)
        write_service_account_file(world)
        tls = {"ssl_certfile": str(settings.tls_certificate), "ssl_keyfile": str(settings.tls_key)}
        servers = [
            _server(microsoft.app, settings.host, settings.microsoft_port, **tls),
            _server(google.app, settings.host, settings.google_port, **tls),
            _server(control_app(world, microsoft, google), settings.host, settings.control_port),
        ]
        async with asyncio.TaskGroup() as tasks:
            courier = tasks.create_task(world.courier.run())
            for server in servers:
                tasks.create_task(_serve(server))
            await asyncio.gather(*(server.listening.wait() for server in servers))
            ready(world)
            await stopping.wait()
            courier.cancel()
            for server in servers:
                server.should_exit = True
    finally:
        await world.http.aclose()
        world.store.close()


class _Server(uvicorn.Server):
    """Signals are the process's business, not a server's."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


async def _serve(server: _Server) -> None:
    try:
        await server.serve()
    except SystemExit as error:
        # uvicorn leaves the whole process when a port is taken; here that is one sentence and everything stops.
        raise OSError(f"cannot listen on {server.config.host}:{server.config.port}") from error


def _server(app: object, host: str, port: int, **tls: str) -> _Server:
    config = uvicorn.Config(
        app,  # type: ignore[arg-type] # an ASGI application; its type has no common name
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
        **tls,  # type: ignore[arg-type]
    )
    return _Server(config)
