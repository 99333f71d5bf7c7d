"""One suite for every blob store: a folder, S3 as moto's server plays it or the object store of a container, and Google
Cloud Storage as its emulator plays it."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256

import pytest
from blob_bytes import read_blob, split_bytes

from mailroom_common.blobs import BlobNotFound, BlobStore, compute_sha256
from mailroom_common.blobs.s3 import PART_BYTES
from mailroom_common.errors import Rejected, SettingsError
from mailroom_common.settings import BlobSettings, load_settings


@pytest.mark.parametrize(
    ("size_bytes", "piece"),
    [(0, 1), (1, 1), (70_000, 999), (PART_BYTES, 65_536), (PART_BYTES + 1, 1_000_000), (3 * PART_BYTES + 7, 300_001)],
)
async def test_bytes_come_back_as_they_went_with_size_and_hash(store: BlobStore, size_bytes: int, piece: int) -> None:
    content = (b"0123456789abcdef" * (size_bytes // 16 + 1))[:size_bytes]
    stored = await store.write_blob("documents/a.pdf", split_bytes(content, piece), content_type="application/pdf")
    assert (stored.size_bytes, stored.sha256) == (size_bytes, sha256(content).hexdigest())
    assert await read_blob(store, "documents/a.pdf") == content


async def test_second_write_replaces_the_first(store: BlobStore) -> None:
    for content in (b"first", b"second"):
        await store.write_blob("documents/a.pdf", split_bytes(content, 2), content_type="application/pdf")
    assert await read_blob(store, "documents/a.pdf") == b"second"


@pytest.mark.parametrize("size_bytes", [10, 2 * PART_BYTES])
async def test_write_that_fails_leaves_nothing_to_be_seen(store: BlobStore, size_bytes: int) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield b"x" * size_bytes
        raise RuntimeError("the mailbox is gone")

    with pytest.raises(RuntimeError):
        await store.write_blob("documents/half.pdf", breaks(), content_type="application/pdf")
    assert not await store.has_blob("documents/half.pdf")


async def test_cancelled_write_leaves_nothing_to_be_seen(store: BlobStore) -> None:
    came = asyncio.Event()

    async def stalls() -> AsyncIterator[bytes]:
        yield b"x" * (2 * PART_BYTES)
        came.set()
        await asyncio.Event().wait()

    writing = asyncio.create_task(store.write_blob("documents/half.pdf", stalls(), content_type="application/pdf"))
    await came.wait()
    assert not await store.has_blob("documents/half.pdf")
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert not await store.has_blob("documents/half.pdf")


async def test_earlier_blob_survives_a_write_that_fails(store: BlobStore) -> None:
    await store.write_blob("documents/a.pdf", split_bytes(b"good", 4), content_type="application/pdf")

    async def breaks() -> AsyncIterator[bytes]:
        yield b"bad"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write_blob("documents/a.pdf", breaks(), content_type="application/pdf")
    assert await read_blob(store, "documents/a.pdf") == b"good"


async def test_missing_blob_is_gone_and_its_delete_is_no_error(store: BlobStore) -> None:
    with pytest.raises(BlobNotFound):
        await read_blob(store, "documents/none.pdf")
    await store.delete_blob("documents/none.pdf")
    assert not await store.has_blob("documents/none.pdf")


async def test_digest_is_that_of_the_bytes_which_the_store_gives_now(store: BlobStore) -> None:
    stored = await store.write_blob("documents/a.pdf", split_bytes(b"abc", 2), content_type="application/pdf")
    assert await compute_sha256(store, "documents/a.pdf") == stored.sha256 == sha256(b"abc").hexdigest()
    assert await compute_sha256(store, "documents/none.pdf") is None


async def test_deleted_blob_is_gone(store: BlobStore) -> None:
    await store.write_blob("documents/a.pdf", split_bytes(b"x", 1), content_type="application/pdf")
    assert await store.has_blob("documents/a.pdf")
    await store.delete_blob("documents/a.pdf")
    assert not await store.has_blob("documents/a.pdf")


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../outside", "a/../../outside", "a//b", "a/./b", "..", "a\\..\\b", "a/\x00", "a/"],
)
async def test_key_that_could_leave_its_root_is_refused(store: BlobStore, key: str) -> None:
    with pytest.raises(Rejected):
        await store.write_blob(key, split_bytes(b"x", 1), content_type="text/plain")
    with pytest.raises(Rejected):
        await read_blob(store, key)
    with pytest.raises(Rejected):
        await store.delete_blob(key)


async def test_archive_keys_with_percent_and_equals_are_plain_names(store: BlobStore) -> None:
    key = "archive/sender_email=a%40b%2Ecom/received_date=2026-11-28/0123456789abcdef/Note 1.pdf"
    metadata = {"sender-email": "a@b.com", "source": "graph_webhook"}
    await store.write_blob(key, split_bytes(b"x", 1), content_type="application/pdf", metadata=metadata)
    assert await read_blob(store, key) == b"x"


async def test_many_writes_at_once_do_not_mix(store: BlobStore) -> None:
    contents = {f"documents/{number}.bin": bytes([number]) * 10_000 for number in range(20)}
    await asyncio.gather(
        *(store.write_blob(key, split_bytes(content, 777), content_type="x/y") for key, content in contents.items())
    )
    for key, content in contents.items():
        assert await read_blob(store, key) == content


async def test_folder_on_the_way_to_a_blob_is_no_blob(store: BlobStore) -> None:
    await store.write_blob("documents/a.pdf", split_bytes(b"x", 1), content_type="x/y")
    for key in ("documents", "documents/a.pdf/b"):
        with pytest.raises(BlobNotFound):
            await read_blob(store, key)
        await store.delete_blob(key)
        assert not await store.has_blob(key)
    assert await read_blob(store, "documents/a.pdf") == b"x"


@pytest.mark.parametrize("url", ["gs://", "ftp://host/x", "s3://", "file://host/x", "nonsense"])
def test_url_of_no_known_kind_is_refused_with_the_setting(url: str) -> None:
    with pytest.raises(SettingsError, match="MAILROOM_BLOB_URL is wrong"):
        load_settings(BlobSettings, blob_url=url)
