"""Bytes on their way into a blob store and out of it."""

from collections.abc import AsyncIterator

from mailroom_common.blobs import BlobStore

BUCKET = "mailroom-test"
"""Of the servers that play S3 and Google Cloud Storage."""


async def split_bytes(content: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read_blob(store: BlobStore, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.read_blob(key)])
