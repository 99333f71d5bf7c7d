"""Documents in the blob store, and the copies that the archive keeps there."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from ingestion.domain.content import HEAD_BYTES, PDF, content_type_of
from ingestion.ports import Fetched
from mailroom_common.blobs import BlobStore
from mailroom_common.errors import Unavailable

_CHUNK_BYTES = 256 * 1024


class StoredDocuments:
    def __init__(self, store: BlobStore, *, scratch: Path) -> None:
        self._store = store
        self._scratch = scratch

    @asynccontextmanager
    async def fetched(self, key: str) -> AsyncIterator[Fetched]:
        """Through a file, so that neither we nor the parser process hold a whole document."""
        with _disk_errors():
            # A folder that cannot be removed afterwards undoes nothing of what was read.
            folder = tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True)
        with folder as name:
            yield await self._fetch(key, Path(name) / "document")

    async def _fetch(self, key: str, path: Path) -> Fetched:
        digest, head = sha256(), b""
        with _disk_errors(), path.open("wb") as file:
            async for chunk in self._store.read_blob(key):
                digest.update(chunk)
                head = (head + chunk[:HEAD_BYTES])[:HEAD_BYTES]
                await asyncio.to_thread(file.write, chunk)
        return Fetched(path, digest.hexdigest(), content_type_of(head))

    async def archive(self, file: Fetched, path: str, *, metadata: Mapping[str, str]) -> None:
        await self._store.write_blob(path, _chunks(file.path), content_type=PDF, metadata=metadata)

    async def delete(self, key: str) -> None:
        await self._store.delete_blob(key)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with _disk_errors():
        file = path.open("rb")
    with file:
        while True:
            with _disk_errors():
                chunk = await asyncio.to_thread(file.read, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


@contextmanager
def _disk_errors() -> Iterator[None]:
    """No space, no descriptors, a disk that fails: this machine's trouble, and no word on the document."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the worker's own disk: {error.strerror}") from error
