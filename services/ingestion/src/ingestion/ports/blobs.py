"""The bytes of documents."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A blob as a file of our own. `content_type` is what its bytes are, None for nothing that Mailroom reads."""

    path: Path
    sha256: str
    content_type: str | None


class DocumentBlobs(Protocol):
    def fetch_blob(self, key: str) -> AbstractAsyncContextManager[FetchedFile]:
        """The blob as a file for the length of the block.

        Raises:
            BlobNotFound, Unavailable
        """
        ...

    async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
        """
        Raises:
            Unavailable
            Rejected: the store never takes this copy.
        """
        ...

    async def compute_sha256(self, key: str) -> str | None:
        """Of the bytes that the store gives now, which are read for it; None where there is no such blob."""
        ...

    async def delete_blob(self, key: str) -> None: ...

    async def has_blob(self, key: str) -> bool: ...
