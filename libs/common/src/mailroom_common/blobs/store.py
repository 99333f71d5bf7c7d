"""What a blob store does, and which one a URL means."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote, urlsplit

from mailroom_common.errors import Rejected, SettingsError
from mailroom_common.settings import BlobSettings


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """`sha256` is hex, taken while the bytes went by."""

    size_bytes: int
    sha256: str


class BlobNotFound(Rejected):
    """There is no such blob."""


class BlobStore(Protocol):
    """Keys are `/`-separated paths. Raises Unavailable where the store does not answer, Rejected where it never will
    do what was asked."""

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        """Store what `chunks` yields, holding a few of them at a time. A write that fails leaves nothing to be seen."""
        ...

    def read_blob(self, key: str) -> AsyncIterator[bytes]:
        """Raises BlobNotFound before the first chunk."""
        ...

    async def delete_blob(self, key: str) -> None:
        """Tolerates that it is gone."""
        ...

    async def has_blob(self, key: str) -> bool: ...


def open_blob_store(settings: BlobSettings) -> AbstractAsyncContextManager[BlobStore]:
    """
    Raises:
        SettingsError: MAILROOM_BLOB_URL is of no kind that there is.
    """
    # Imported here: a service with a folder does not pay for the AWS client.
    url = urlsplit(settings.blob_url)
    if url.scheme == "file" and url.netloc in ("", "localhost") and url.path:
        from mailroom_common.blobs.folder import open_folder

        return open_folder(unquote(url.path))
    if url.scheme == "s3" and url.netloc:
        from mailroom_common.blobs.s3 import open_s3

        return open_s3(url.netloc, url.path.strip("/"))
    raise SettingsError(
        "MAILROOM_BLOB_URL is wrong: file:///folder or s3://bucket/prefix is needed (gs:// is not there yet)."
    )


def checked_key(key: str) -> str:
    """Raises Rejected for a key that could leave its root or mean two things."""
    steps = key.split("/")
    if "\\" in key or "\x00" in key or any(step in ("", ".", "..") for step in steps):
        raise Rejected("a blob key has to be a relative path of plain names")
    return key
