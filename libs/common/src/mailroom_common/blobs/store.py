"""The port of a blob store: what each kind of it does, and which keys are valid."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from mailroom_common.errors import Rejected


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """`sha256` is hex, computed while the bytes were written."""

    size_bytes: int
    sha256: str


class BlobNotFound(Rejected):
    """There is no such blob."""


class BlobStore(Protocol):
    """Keys are `/`-separated paths. Raises Unavailable when the store does not answer, Rejected when it can never do
    what was asked."""

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        """Store what `chunks` yields, holding a few of them at a time. A write that fails leaves no blob."""
        ...

    def read_blob(self, key: str) -> AsyncIterator[bytes]:
        """Raises BlobNotFound before the first chunk."""
        ...

    async def delete_blob(self, key: str) -> None:
        """Does nothing when there is no such blob."""
        ...

    async def has_blob(self, key: str) -> bool: ...


async def compute_sha256(store: BlobStore, key: str) -> str | None:
    """Of the bytes that the store gives now, which are read for it; None where there is no such blob."""
    digest = sha256()
    try:
        async for chunk in store.read_blob(key):
            digest.update(chunk)
    except BlobNotFound:
        return None
    return digest.hexdigest()


def validate_key(key: str) -> str:
    """Raises Rejected for a key that could leave its root or mean two things."""
    steps = key.split("/")
    if "\\" in key or "\x00" in key or any(step in ("", ".", "..") for step in steps):
        raise Rejected("a blob key has to be a relative path of plain names")
    return key
