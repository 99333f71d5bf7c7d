"""Documents in the blob store, and the copies that the archive keeps there."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from ingestion.domain.content import HEAD_BYTES, PDF, content_type_of
from ingestion.ports import Fetched
from mailroom_common.blobs import BlobStore

_CHUNK_BYTES = 256 * 1024


class StoredDocuments:
    def __init__(self, store: BlobStore) -> None:
        self._store = store

    @asynccontextmanager
    async def fetched(self, key: str) -> AsyncIterator[Fetched]:
        """Through a file, so that neither we nor the parser process hold a whole document."""
        with tempfile.TemporaryDirectory(prefix="mailroom-document-") as folder:
            path = Path(folder) / "document"
            digest, head = sha256(), b""
            with path.open("wb") as file:
                async for chunk in self._store.read(key):
                    digest.update(chunk)
                    head = (head + chunk[:HEAD_BYTES])[:HEAD_BYTES]
                    await asyncio.to_thread(file.write, chunk)
            yield Fetched(path, digest.hexdigest(), content_type_of(head))

    async def archive(self, file: Fetched, path: str, *, metadata: Mapping[str, str]) -> None:
        await self._store.write(path, _chunks(file.path), content_type=PDF, metadata=metadata)

    async def delete(self, key: str) -> None:
        await self._store.delete(key)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield chunk
