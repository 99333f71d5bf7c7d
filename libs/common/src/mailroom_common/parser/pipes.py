"""Bytes through pipes and sockets without blocking the event loop: each is a plain descriptor, closed by its owner."""

import asyncio
import os
import select
from collections.abc import Callable

_CHUNK_BYTES = 1024 * 1024


async def write_all(descriptor: int, content: bytes) -> None:
    loop = asyncio.get_running_loop()
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            await _wait_until_ready(loop.add_writer, loop.remove_writer, descriptor)


async def read_exactly(descriptor: int, size_bytes: int) -> bytes:
    """
    Raises:
        EOFError: the other side closed it before.
    """
    loop = asyncio.get_running_loop()
    content = bytearray()
    while len(content) < size_bytes:
        try:
            chunk = os.read(descriptor, min(size_bytes - len(content), _CHUNK_BYTES))
        except BlockingIOError:
            await _wait_until_ready(loop.add_reader, loop.remove_reader, descriptor)
            continue
        if not chunk:
            raise EOFError
        content += chunk
    return bytes(content)


def is_readable(descriptor: int) -> bool:
    """Whether a read would return at once: bytes are there, or the other side closed it."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def has_bytes(descriptor: int) -> bool:
    """Whether the other side has written something that was not read. One byte of it is taken."""
    try:
        return bool(os.read(descriptor, 1))
    except BlockingIOError:
        return False


async def _wait_until_ready(
    add: Callable[[int, Callable[[], None]], object], remove: Callable[[int], object], descriptor: int
) -> None:
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)
