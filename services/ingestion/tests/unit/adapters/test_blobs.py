import errno
import tempfile
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from ingestion_fakes import PDF

from ingestion.adapters.blobs import StoredDocumentBlobs
from ingestion.ports.blobs import FetchedFile
from mailroom_common.blobs import BlobNotFound, StoredBlob
from mailroom_common.errors import Unavailable


class OneBlob:
    """A store that has `PDF` under any key but one, and takes what it is given."""

    def __init__(self) -> None:
        self.written = b""

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        self.written = b"".join([chunk async for chunk in chunks])
        return StoredBlob(len(self.written), "")

    async def read_blob(self, key: str) -> AsyncIterator[bytes]:
        if key == "documents/none.pdf":
            raise BlobNotFound(f"there is no blob {key}")
        yield PDF

    async def delete_blob(self, key: str) -> None:
        raise NotImplementedError

    async def has_blob(self, key: str) -> bool:
        return True


class FullDisk(BytesIO):
    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


class BrokenDisk(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.EIO, "Input/output error")


async def fetch_and_archive(store: OneBlob) -> FetchedFile:
    documents = StoredDocumentBlobs(store, scratch=Path(tempfile.gettempdir()))
    async with documents.fetch_blob("documents/1.pdf") as file:
        await documents.write_archive_copy(file, "archive/1.pdf", metadata={})
        return file


async def test_a_document_is_read_through_a_file_that_is_removed_afterwards() -> None:
    store = OneBlob()
    file = await fetch_and_archive(store)
    assert (store.written, file.content_type) == (PDF, "application/pdf")
    assert not file.path.parent.exists()


async def test_a_digest_is_that_of_the_bytes_which_the_store_gives_now() -> None:
    documents = StoredDocumentBlobs(OneBlob(), scratch=Path(tempfile.gettempdir()))
    assert await documents.compute_sha256("documents/1.pdf") == sha256(PDF).hexdigest()
    assert await documents.compute_sha256("documents/none.pdf") is None


async def test_no_place_for_files_is_the_machines_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(Unavailable):
        await fetch_and_archive(OneBlob())


@pytest.mark.parametrize("disk", [FullDisk, BrokenDisk])
async def test_a_disk_that_is_full_or_broken_is_the_machines_trouble(
    monkeypatch: pytest.MonkeyPatch, disk: type[BytesIO]
) -> None:
    opened = Path.open
    failing_mode = "wb" if disk is FullDisk else "rb"

    def opens(path: Path, mode: str = "r") -> Any:
        return disk() if mode == failing_mode else opened(path, mode)

    monkeypatch.setattr(Path, "open", opens)
    with pytest.raises(Unavailable, match="disk"):
        await fetch_and_archive(OneBlob())


async def test_no_descriptor_for_a_file_is_the_machines_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def opens(path: Path, mode: str = "r") -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "open", opens)
    with pytest.raises(Unavailable):
        await fetch_and_archive(OneBlob())


async def test_an_error_of_who_works_with_the_file_stays_his_own() -> None:
    with pytest.raises(OSError, match="of the reader") as raised:
        async with StoredDocumentBlobs(OneBlob(), scratch=Path(tempfile.gettempdir())).fetch_blob("documents/1.pdf"):
            raise OSError("of the reader")
    assert not isinstance(raised.value, Unavailable)
