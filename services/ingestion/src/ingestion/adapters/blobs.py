"""Documents in the blob store, read through files of our own, and the copies that the archive keeps there."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from ingestion.domain.transcript import HEAD_BYTES, PDF, detect_content_type
from ingestion.ports.blobs import FetchedFile
from mailroom_common.blobs import BlobStore, compute_sha256
from mailroom_common.errors import Unavailable

_CHUNK_BYTES = 256 * 1024


class StoredDocumentBlobs:
    def __init__(self, store: BlobStore, *, scratch: Path) -> None:
        self._store = store
        self._scratch = scratch

    @asynccontextmanager
    async def fetch_blob(self, key: str) -> AsyncIterator[FetchedFile]:
        """Through a file, so that neither we nor the parser process hold a whole document."""
        with _local_disk_errors():
            # A folder that cannot be removed afterwards undoes nothing of what was read.
            folder = tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True)
        with folder as name:
            yield await self._copy_to_file(key, Path(name) / "document")

    async def _copy_to_file(self, key: str, path: Path) -> FetchedFile:
        digest, head = sha256(), b""
        with _local_disk_errors(), path.open("wb") as file:
            async for chunk in self._store.read_blob(key):
                digest.update(chunk)
                head = (head + chunk[:HEAD_BYTES])[:HEAD_BYTES]
                await asyncio.to_thread(file.write, chunk)
        return FetchedFile(path, digest.hexdigest(), detect_content_type(head))

    async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
        await self._store.write_blob(path, _read_chunks(file.path), content_type=PDF, metadata=metadata)

    async def has_blob(self, key: str) -> bool:
        return await self._store.has_blob(key)

    async def compute_sha256(self, key: str) -> str | None:
        return await compute_sha256(self._store, key)

    async def delete_blob(self, key: str) -> None:
        await self._store.delete_blob(key)


async def _read_chunks(path: Path) -> AsyncIterator[bytes]:
    with _local_disk_errors():
        file = path.open("rb")
    with file:
        while True:
            with _local_disk_errors():
                chunk = await asyncio.to_thread(file.read, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


@contextmanager
def _local_disk_errors() -> Iterator[None]:
    """No space, no descriptors, a disk that fails: this machine's trouble, which says nothing about the document."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the worker's own disk: {error.strerror}") from error
