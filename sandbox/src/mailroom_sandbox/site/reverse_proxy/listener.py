"""One port for http and https: the first byte of a connection decides, and the socket goes on to the one or the other.

A TLS connection begins with a handshake record, whose first byte is 0x16; no http request begins so.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from mailroom_common.http_limits import LimitedHttpProtocol

_TLS_HANDSHAKE = b"\x16"
_FIRST_BYTE_TIMEOUT_S = 30.0


@contextlib.asynccontextmanager
async def listen_on_port(
    app: ASGIApp, *, port: int, tls: ssl.SSLContext, host: str = "127.0.0.1"
) -> AsyncIterator[None]:
    protocols = _Protocols(app)
    listener = socket.create_server((host, port), backlog=512)
    listener.setblocking(False)
    accepting = asyncio.create_task(_accept_connections(listener, protocols, tls), name="reverse proxy")
    try:
        yield
    finally:
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
        listener.close()
        protocols.close_connections()


class _Protocols:
    """uvicorn's HTTP protocol for connections that are accepted here and not by uvicorn."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedHttpProtocol,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=60,
        )
        config.load()
        self._state = uvicorn.Server(config).server_state
        self._config = config

    def __call__(self) -> asyncio.Protocol:
        make = cast("Callable[..., asyncio.Protocol]", self._config.http_protocol_class)
        return make(config=self._config, server_state=self._state, app_state={})

    def close_connections(self) -> None:
        """Cuts what is still open: an event stream has no end of its own."""
        for task in tuple(self._state.tasks):
            task.cancel()
        connections: list[Any] = [*self._state.connections]  # Any: uvicorn leaves their `transport` untyped
        for connection in connections:
            connection.transport.close()


async def _accept_connections(listener: socket.socket, protocols: _Protocols, tls: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as connections:
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:  # out of descriptors, or the client is gone already: the next one may be fine
                await asyncio.sleep(0.05)
                continue
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections.create_task(_hand_over(connection, protocols, tls))


async def _hand_over(connection: socket.socket, protocols: _Protocols, tls: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_FIRST_BYTE_TIMEOUT_S):
            await _wait_until_readable(connection)
        is_tls = connection.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE
        await loop.connect_accepted_socket(protocols, connection, ssl=tls if is_tls else None)
    except OSError:
        connection.close()  # gone, silent, or no TLS we can speak: nothing to answer


async def _wait_until_readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection, lambda: None if readable.done() else readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(connection)
