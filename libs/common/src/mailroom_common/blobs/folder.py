"""Blobs in a folder: written to a temporary file and moved into place whole."""

import asyncio
import errno
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, validate_key
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.logs import get_logger

log = get_logger()

_CHUNK_BYTES = 256 * 1024
_PARTIAL_FOLDER = ".partial"  # within the root, so that the move renames a file and copies nothing
_METADATA_FOLDER = ".metadata"
# What was not written to for so long is a killed process's. A write that stood still as long is told that the store is
# away, and is repeated.
_ABANDONED_AFTER_S = 3600
_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


@asynccontextmanager
async def open_folder(root: str) -> AsyncIterator[BlobStore]:
    folder = Path(root)
    try:
        await asyncio.to_thread((folder / _PARTIAL_FOLDER).mkdir, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"MAILROOM_BLOB_URL is wrong: the folder cannot be made ({error.strerror}).") from error
    yield FolderBlobStore(folder)


class FolderBlobStore:
    """Content type and metadata are stored in a tree of their own beside the blobs."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._next_sweep = time.monotonic()

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        await self._sweep_sometimes()
        partial = self._root / _PARTIAL_FOLDER / uuid4().hex
        digest, size_bytes = sha256(), 0
        with _folder_errors():
            target = self._resolve_path(key)
            try:
                file = await asyncio.to_thread(partial.open, "xb")
                with file:
                    async for chunk in chunks:
                        digest.update(chunk)
                        await asyncio.to_thread(file.write, chunk)
                        size_bytes += len(chunk)
                    await asyncio.to_thread(_sync_file, file)
                await asyncio.to_thread(self._write_metadata, key, {"content_type": content_type, **(metadata or {})})
                await asyncio.to_thread(_move_into_place, partial, target)
            finally:
                partial.unlink(missing_ok=True)
        return StoredBlob(size_bytes, digest.hexdigest())

    async def read_blob(self, key: str) -> AsyncIterator[bytes]:
        with _folder_errors():
            try:
                file = await asyncio.to_thread(self._resolve_path(key).open, "rb")
            except _NO_FILE:
                await asyncio.to_thread(self._require_root)
                raise BlobNotFound(f"there is no blob {key}") from None
        with file:
            # `_folder_errors` does not enclose the `yield`: what the reader of the chunks raises there is its own.
            while chunk := await _read_chunk(file):
                yield chunk

    async def delete_blob(self, key: str) -> None:
        with _folder_errors():
            await asyncio.to_thread(self._require_root)
            for path in (self._resolve_path(key), self._root / _METADATA_FOLDER / f"{validate_key(key)}.json"):
                with suppress(*_NO_FILE):
                    await asyncio.to_thread(path.unlink)

    async def has_blob(self, key: str) -> bool:
        with _folder_errors():
            is_there = await asyncio.to_thread(self._resolve_path(key).is_file)
            if not is_there:
                await asyncio.to_thread(self._require_root)
            return is_there

    async def _sweep_sometimes(self) -> None:
        """A process that is killed in the middle of a write leaves its file behind: whoever writes later removes it."""
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _ABANDONED_AFTER_S
            await asyncio.to_thread(_remove_abandoned_files, self._root / _PARTIAL_FOLDER)

    def _require_root(self) -> None:
        """A volume that is not mounted holds no blob and has lost none: what was made in it at the start tells."""
        if not (self._root / _PARTIAL_FOLDER).is_dir():
            raise Unavailable(f"blob store: the folder {self._root} is away; is its volume mounted?")

    def _resolve_path(self, key: str) -> Path:
        path = self._root / validate_key(key)
        # Resolved, since a link inside the folder could lead out of it as well.
        if not path.resolve().is_relative_to(self._root) or path.relative_to(self._root).parts[0] in (
            _PARTIAL_FOLDER,
            _METADATA_FOLDER,
        ):
            raise BlobNotFound(f"there is no blob {key}")
        return path

    def _write_metadata(self, key: str, metadata: Mapping[str, str]) -> None:
        path = self._root / _METADATA_FOLDER / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(metadata))


async def _read_chunk(file: BinaryIO) -> bytes:
    with _folder_errors():
        return await asyncio.to_thread(file.read, _CHUNK_BYTES)


class _folder_errors:  # noqa: N801  # a context manager, named as its `with` statement reads
    """A disk that is full, broken or away is transient for the blob; a name that is too long is not."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError):
            if error.errno == errno.ENAMETOOLONG:
                raise Rejected("the name of a blob is too long for this folder") from error
            raise Unavailable(f"blob store: {error.strerror}") from error


def _remove_abandoned_files(folder: Path) -> None:
    written_before = time.time() - _ABANDONED_AFTER_S
    with suppress(OSError):  # a folder that is away is for the write itself to say
        for file in folder.iterdir():
            with suppress(OSError):  # moved into place, or removed by another process, at this moment
                if file.lstat().st_mtime < written_before:
                    file.unlink()
                    # A process was killed while it wrote it; the write was repeated under another name.
                    log.info("abandoned_blob_file_removed", file=file.name)


def _sync_file(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _move_into_place(partial: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name has to be durable too, before a row says that the blob exists
    finally:
        os.close(folder)
