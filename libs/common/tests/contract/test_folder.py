"""What only a folder does: its links, its own folders, and a disk that breaks."""

import errno
import os
import time
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from blob_bytes import read_blob, split_bytes

from mailroom_common.blobs import open_blob_store
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.settings import BlobSettings


async def test_memory_does_not_grow_with_a_blob(tmp_path: Path) -> None:
    async def sixty_megabytes() -> AsyncIterator[bytes]:
        for _ in range(240):
            yield bytes(256 * 1024)

    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        tracemalloc.start()
        await store.write_blob("documents/big.bin", sixty_megabytes(), content_type="x/y")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 5_000_000


async def test_link_inside_the_folder_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "blobs").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "blobs" / "link").symlink_to(tmp_path / "outside")
    async with open_blob_store(BlobSettings(blob_url=(tmp_path / "blobs").as_uri())) as store:
        with pytest.raises(Rejected):
            await read_blob(store, "link/secret")


async def test_what_a_killed_process_had_begun_to_write_is_removed_and_what_is_being_written_is_not(
    tmp_path: Path,
) -> None:
    partial = tmp_path / ".partial"
    partial.mkdir()
    for name, age_s in (("abandoned", 7200), ("being-written", 60)):
        (partial / name).write_bytes(b"%PDF-")
        os.utime(partial / name, (time.time() - age_s,) * 2)
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob("documents/a.pdf", split_bytes(b"x", 1), content_type="x/y")
    assert [file.name for file in partial.iterdir()] == ["being-written"]


async def test_a_store_that_stays_open_removes_what_others_leave_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob("documents/a.pdf", split_bytes(b"x", 1), content_type="x/y")
        abandoned = tmp_path / ".partial" / "abandoned"
        abandoned.write_bytes(b"%PDF-")
        os.utime(abandoned, (time.time() - 7200,) * 2)
        an_hour_later = time.monotonic() + 3601
        monkeypatch.setattr("mailroom_common.blobs.folder.time.monotonic", lambda: an_hour_later)
        await store.write_blob("documents/b.pdf", split_bytes(b"x", 1), content_type="x/y")
    assert not abandoned.exists()


@pytest.mark.parametrize("key", [".partial/x", ".metadata/x.json"])
async def test_folders_of_the_store_itself_are_no_keys(tmp_path: Path, key: str) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        with pytest.raises(Rejected):
            await store.write_blob(key, split_bytes(b"x", 1), content_type="x/y")


def _io_error(*_: object, **__: object) -> Any:
    raise OSError(errno.EIO, "Input/output error")


class _BreaksInTheMiddle(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        return super().read(size) or _io_error()


async def test_disk_that_breaks_in_the_middle_of_a_read_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        monkeypatch.setattr(Path, "open", lambda *_: _BreaksInTheMiddle(b"half of it"))
        with pytest.raises(Unavailable):
            await read_blob(store, "documents/a.pdf")


async def test_error_of_who_reads_a_blob_stays_his_own(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob("a.pdf", split_bytes(b"x", 1), content_type="x/y")
        chunks = aiter(store.read_blob("a.pdf"))
        await anext(chunks)
        assert isinstance(chunks, AsyncGenerator)
        with pytest.raises(OSError, match="of the reader"):
            await chunks.athrow(OSError("of the reader"))


@pytest.mark.parametrize("broken", ["open", "mkdir", "replace", "unlink", "resolve"])
async def test_disk_that_breaks_while_a_blob_is_written_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        monkeypatch.setattr(Path, broken, _io_error)
        with pytest.raises(Unavailable):
            await store.write_blob("documents/a.pdf", split_bytes(b"x", 1), content_type="x/y")


async def test_disk_that_breaks_on_delete_or_look_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        monkeypatch.setattr(Path, "unlink", _io_error)
        monkeypatch.setattr(Path, "is_file", _io_error)
        with pytest.raises(Unavailable):
            await store.delete_blob("documents/a.pdf")
        with pytest.raises(Unavailable):
            await store.has_blob("documents/a.pdf")


async def test_name_that_no_folder_can_hold_is_refused_for_good(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        with pytest.raises(Rejected):
            await store.write_blob("a" * 300, split_bytes(b"x", 1), content_type="x/y")


async def test_content_type_and_metadata_are_kept_beside_the_blob(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob(
            "a/b.pdf", split_bytes(b"x", 1), content_type="application/pdf", metadata={"source": "upload"}
        )
        noted = (tmp_path / ".metadata" / "a" / "b.pdf.json").read_text()
        assert '"application/pdf"' in noted
        assert '"upload"' in noted
        await store.delete_blob("a/b.pdf")
        assert not (tmp_path / ".metadata" / "a" / "b.pdf.json").exists()


async def test_folder_that_is_away_is_unavailable_and_no_missing_blob(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=f"file://{tmp_path}/volume")) as store:
        (tmp_path / "volume").rename(tmp_path / "elsewhere")
        with pytest.raises(Unavailable, match="is its volume mounted"):
            await read_blob(store, "a/b.pdf")
        with pytest.raises(Unavailable):
            await store.has_blob("a/b.pdf")
        with pytest.raises(Unavailable):
            await store.delete_blob("a/b.pdf")
        with pytest.raises(Unavailable):
            await store.write_blob("a/b.pdf", split_bytes(b"x", 1), content_type="x/y")
