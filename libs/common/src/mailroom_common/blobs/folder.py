"""Blobs in a folder: written beside their place and moved there whole."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, checked_key
from mailroom_common.errors import Rejected, SettingsError, Unavailable

_CHUNK_BYTES = 256 * 1024
_PARTS = ".partial"  # within the root, so that the move is one of names and not of bytes
_METADATA = ".metadata"
_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


@asynccontextmanager
async def open_folder(root: str) -> AsyncIterator[BlobStore]:
    folder = Path(root)
    try:
        await asyncio.to_thread((folder / _PARTS).mkdir, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"MAILROOM_BLOB_URL is wrong: the folder cannot be made ({error.strerror}).") from error
    yield FolderBlobs(folder)


class FolderBlobs:
    """Content type and metadata lie in a tree of their own beside the blobs."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        partial = self._root / _PARTS / uuid4().hex
        digest, size_bytes = sha256(), 0
        with _folder_errors():
            place = self._place(key)
            try:
                file = await asyncio.to_thread(partial.open, "xb")
                with file:
                    async for chunk in chunks:
                        digest.update(chunk)
                        await asyncio.to_thread(file.write, chunk)
                        size_bytes += len(chunk)
                    await asyncio.to_thread(_sync, file)
                await asyncio.to_thread(self._note, key, {"content_type": content_type, **(metadata or {})})
                await asyncio.to_thread(_move, partial, place)
            finally:
                partial.unlink(missing_ok=True)
        return StoredBlob(size_bytes, digest.hexdigest())

    async def read_blob(self, key: str) -> AsyncIterator[bytes]:
        with _folder_errors():
            try:
                file = await asyncio.to_thread(self._place(key).open, "rb")
            except _NO_FILE:
                raise BlobNotFound(f"there is no blob {key}") from None
        with file:
            # Not round the `yield`: what the reader of these chunks raises there is its own.
            while chunk := await _next_chunk(file):
                yield chunk

    async def delete_blob(self, key: str) -> None:
        with _folder_errors():
            for path in (self._place(key), self._root / _METADATA / f"{checked_key(key)}.json"):
                with suppress(*_NO_FILE):
                    await asyncio.to_thread(path.unlink)

    async def has_blob(self, key: str) -> bool:
        with _folder_errors():
            return await asyncio.to_thread(self._place(key).is_file)

    def _place(self, key: str) -> Path:
        place = self._root / checked_key(key)
        # Resolved, since a link inside the folder could lead out of it as well.
        if not place.resolve().is_relative_to(self._root) or place.relative_to(self._root).parts[0] in (
            _PARTS,
            _METADATA,
        ):
            raise BlobNotFound(f"there is no blob {key}")
        return place

    def _note(self, key: str, facts: Mapping[str, str]) -> None:
        path = self._root / _METADATA / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts))


async def _next_chunk(file: BinaryIO) -> bytes:
    with _folder_errors():
        return await asyncio.to_thread(file.read, _CHUNK_BYTES)


class _folder_errors:  # noqa: N801  # as `_s3_errors`
    """A disk that is full, broken or away says nothing about the blob. A name that is too long does."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError):
            if error.errno == errno.ENAMETOOLONG:
                raise Rejected("the name of a blob is too long for this folder") from error
            raise Unavailable(f"blob store: {error.strerror}") from error


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _move(partial: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name is durable too, before a row says that the blob is there
    finally:
        os.close(folder)
