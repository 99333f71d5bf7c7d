"""One suite for every blob store: a folder, S3 as moto's server plays it or the object store of a container, and Google
Cloud Storage as its emulator plays it."""

import asyncio
import errno
import socket
import ssl
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import aioboto3
import pytest
import trustme
from botocore.exceptions import ClientError
from gcp_storage_emulator.server import create_server
from google.api_core.exceptions import from_http_status
from google.auth.exceptions import DefaultCredentialsError
from moto.server import ThreadedMotoServer

from mailroom_common.blobs import BlobNotFound, BlobStore, compute_sha256, gcs, open_blob_store
from mailroom_common.blobs.s3 import PART_BYTES, S3BlobStore
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.settings import BlobSettings
from mailroom_sandbox.testkit.pytest_plugin import runs_in_containers

BUCKET = "mailroom-test"


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    if runs_in_containers():
        from mailroom_sandbox.testkit.container_stack import s3_container

        with s3_container() as endpoint:
            yield endpoint
        return
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def session() -> aioboto3.Session:
    """One for all tests, as for all of a process: reading what botocore knows of S3 takes it half a second of CPU."""
    return aioboto3.Session()


@pytest.fixture
def aws(s3_server: str, session: aioboto3.Session, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(aioboto3, "Session", lambda: session)
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "mailroom-test",
        "AWS_SECRET_ACCESS_KEY": "mailroom-test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="module")
def gcs_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def google(gcs_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_server)
    return gcs_server


@pytest.fixture(params=["folder", "s3", "gcs"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    url = (tmp_path / "blobs").as_uri()
    if request.param == "s3":
        request.getfixturevalue("aws")
        url = f"s3://{BUCKET}/some/prefix"
        async with aioboto3.Session().client("s3") as client:
            with suppress(client.exceptions.BucketAlreadyOwnedByYou):  # by the test before; AWS says nothing to that
                await client.create_bucket(Bucket=BUCKET)
    if request.param == "gcs":
        request.getfixturevalue("google")
        url = f"gs://{BUCKET}/{tmp_path.name}"
    async with open_blob_store(BlobSettings(blob_url=url)) as store:
        yield store


async def _pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def _read(store: BlobStore, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.read_blob(key)])


async def _answer_not_found(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    writer.close()


@pytest.mark.usefixtures("aws")
async def test_s3_is_checked_against_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, bundle = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(bundle)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    server = await asyncio.start_server(_answer_not_found, "127.0.0.1", 0, ssl=tls)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    async with open_blob_store(BlobSettings(blob_url=f"s3://{BUCKET}", ca_bundle=bundle)) as store:
        assert not await store.has_blob("documents/a")
    async with open_blob_store(BlobSettings(blob_url=f"s3://{BUCKET}")) as store:
        with pytest.raises(Unavailable):
            await store.has_blob("documents/a")
    server.close()


@pytest.mark.parametrize(
    ("size_bytes", "piece"),
    [(0, 1), (1, 1), (70_000, 999), (PART_BYTES, 65_536), (PART_BYTES + 1, 1_000_000), (3 * PART_BYTES + 7, 300_001)],
)
async def test_bytes_come_back_as_they_went_with_size_and_hash(store: BlobStore, size_bytes: int, piece: int) -> None:
    content = (b"0123456789abcdef" * (size_bytes // 16 + 1))[:size_bytes]
    stored = await store.write_blob("documents/a.pdf", _pieces(content, piece), content_type="application/pdf")
    assert (stored.size_bytes, stored.sha256) == (size_bytes, sha256(content).hexdigest())
    assert await _read(store, "documents/a.pdf") == content


async def test_second_write_replaces_the_first(store: BlobStore) -> None:
    for content in (b"first", b"second"):
        await store.write_blob("documents/a.pdf", _pieces(content, 2), content_type="application/pdf")
    assert await _read(store, "documents/a.pdf") == b"second"


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
    await store.write_blob("documents/a.pdf", _pieces(b"good", 4), content_type="application/pdf")

    async def breaks() -> AsyncIterator[bytes]:
        yield b"bad"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write_blob("documents/a.pdf", breaks(), content_type="application/pdf")
    assert await _read(store, "documents/a.pdf") == b"good"


async def test_missing_blob_is_gone_and_its_delete_is_no_error(store: BlobStore) -> None:
    with pytest.raises(BlobNotFound):
        await _read(store, "documents/none.pdf")
    await store.delete_blob("documents/none.pdf")
    assert not await store.has_blob("documents/none.pdf")


async def test_digest_is_that_of_the_bytes_which_the_store_gives_now(store: BlobStore) -> None:
    stored = await store.write_blob("documents/a.pdf", _pieces(b"abc", 2), content_type="application/pdf")
    assert await compute_sha256(store, "documents/a.pdf") == stored.sha256 == sha256(b"abc").hexdigest()
    assert await compute_sha256(store, "documents/none.pdf") is None


async def test_deleted_blob_is_gone(store: BlobStore) -> None:
    await store.write_blob("documents/a.pdf", _pieces(b"x", 1), content_type="application/pdf")
    assert await store.has_blob("documents/a.pdf")
    await store.delete_blob("documents/a.pdf")
    assert not await store.has_blob("documents/a.pdf")


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../outside", "a/../../outside", "a//b", "a/./b", "..", "a\\..\\b", "a/\x00", "a/"],
)
async def test_key_that_could_leave_its_root_is_refused(store: BlobStore, key: str) -> None:
    with pytest.raises(Rejected):
        await store.write_blob(key, _pieces(b"x", 1), content_type="text/plain")
    with pytest.raises(Rejected):
        await _read(store, key)
    with pytest.raises(Rejected):
        await store.delete_blob(key)


async def test_archive_keys_with_percent_and_equals_are_plain_names(store: BlobStore) -> None:
    key = "archive/sender_email=a%40b%2Ecom/received_date=2026-11-28/0123456789abcdef/Note 1.pdf"
    metadata = {"sender-email": "a@b.com", "source": "graph_webhook"}
    await store.write_blob(key, _pieces(b"x", 1), content_type="application/pdf", metadata=metadata)
    assert await _read(store, key) == b"x"


async def test_many_writes_at_once_do_not_mix(store: BlobStore) -> None:
    contents = {f"documents/{number}.bin": bytes([number]) * 10_000 for number in range(20)}
    await asyncio.gather(
        *(store.write_blob(key, _pieces(content, 777), content_type="x/y") for key, content in contents.items())
    )
    for key, content in contents.items():
        assert await _read(store, key) == content


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
            await _read(store, "link/secret")


@pytest.mark.parametrize("key", [".partial/x", ".metadata/x.json"])
async def test_folders_of_the_store_itself_are_no_keys(tmp_path: Path, key: str) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        with pytest.raises(Rejected):
            await store.write_blob(key, _pieces(b"x", 1), content_type="x/y")


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
            await _read(store, "documents/a.pdf")


async def test_error_of_who_reads_a_blob_stays_his_own(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob("a.pdf", _pieces(b"x", 1), content_type="x/y")
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
            await store.write_blob("documents/a.pdf", _pieces(b"x", 1), content_type="x/y")


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


async def test_folder_on_the_way_to_a_blob_is_no_blob(store: BlobStore) -> None:
    await store.write_blob("documents/a.pdf", _pieces(b"x", 1), content_type="x/y")
    for key in ("documents", "documents/a.pdf/b"):
        with pytest.raises(BlobNotFound):
            await _read(store, key)
        await store.delete_blob(key)
        assert not await store.has_blob(key)
    assert await _read(store, "documents/a.pdf") == b"x"


async def test_name_that_no_folder_can_hold_is_refused_for_good(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        with pytest.raises(Rejected):
            await store.write_blob("a" * 300, _pieces(b"x", 1), content_type="x/y")


async def test_content_type_and_metadata_are_kept_beside_the_blob(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=tmp_path.as_uri())) as store:
        await store.write_blob(
            "a/b.pdf", _pieces(b"x", 1), content_type="application/pdf", metadata={"source": "upload"}
        )
        noted = (tmp_path / ".metadata" / "a" / "b.pdf.json").read_text()
        assert '"application/pdf"' in noted
        assert '"upload"' in noted
        await store.delete_blob("a/b.pdf")
        assert not (tmp_path / ".metadata" / "a" / "b.pdf.json").exists()


async def test_s3_gets_metadata_and_aborts_what_does_not_end(aws: str) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield bytes(2 * PART_BYTES)
        raise RuntimeError

    async with (
        aioboto3.Session().client("s3") as client,
        open_blob_store(BlobSettings(blob_url="s3://aborts")) as store,
    ):
        await client.create_bucket(Bucket="aborts")
        with pytest.raises(RuntimeError):
            await store.write_blob("half.bin", breaks(), content_type="x/y")
        assert "Uploads" not in await client.list_multipart_uploads(Bucket="aborts")
        big = _pieces(bytes(PART_BYTES + 1), 100_000)
        await store.write_blob("big.bin", big, content_type="x/y", metadata={"source": "gmail_push"})
        head = await client.head_object(Bucket="aborts", Key="big.bin")
        assert (head["ContentType"], head["Metadata"]) == ("x/y", {"source": "gmail_push"})


async def test_s3_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch, aws: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    async with open_blob_store(BlobSettings(blob_url="s3://none")) as store:
        with pytest.raises(Unavailable):
            await store.has_blob("a")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("MetadataTooLarge", Rejected),
        ("KeyTooLongError", Rejected),
        ("EntityTooLarge", Rejected),
        ("InvalidArgument", Rejected),
        ("SlowDown", Unavailable),
        ("AccessDenied", Unavailable),
        ("InternalError", Unavailable),
    ],
)
@pytest.mark.parametrize("size_bytes", [1, PART_BYTES])
async def test_s3_is_asked_again_only_where_the_same_request_may_pass(
    code: str, kind: type[Exception], size_bytes: int
) -> None:
    class Refuses:
        async def put_object(self, **_: object) -> None:
            raise ClientError({"Error": {"Code": code}}, "PutObject")

        create_multipart_upload = put_object

    client: Any = Refuses()  # moto knows no such limits
    with pytest.raises(kind, match=code):
        await S3BlobStore(client, BUCKET, "").write_blob("a", _pieces(bytes(size_bytes), 100_000), content_type="x/y")


async def test_folder_that_is_away_is_unavailable_and_no_missing_blob(tmp_path: Path) -> None:
    async with open_blob_store(BlobSettings(blob_url=f"file://{tmp_path}/volume")) as store:
        (tmp_path / "volume").rename(tmp_path / "elsewhere")
        with pytest.raises(Unavailable, match="is its volume mounted"):
            await _read(store, "a/b.pdf")
        with pytest.raises(Unavailable):
            await store.has_blob("a/b.pdf")
        with pytest.raises(Unavailable):
            await store.delete_blob("a/b.pdf")
        with pytest.raises(Unavailable):
            await store.write_blob("a/b.pdf", _pieces(b"x", 1), content_type="x/y")


async def test_missing_bucket_is_unavailable_and_no_missing_blob(aws: str) -> None:
    async with open_blob_store(BlobSettings(blob_url="s3://no-such-bucket")) as store:
        with pytest.raises(Unavailable):
            await store.write_blob("a", _pieces(b"x", 1), content_type="x/y")


@pytest.mark.parametrize("url", ["gs://", "ftp://host/x", "s3://", "file://host/x", "nonsense"])
def test_url_of_no_known_kind_is_refused_with_the_setting(url: str) -> None:
    with pytest.raises(SettingsError, match="MAILROOM_BLOB_URL is wrong"):
        open_blob_store(BlobSettings(blob_url=url))


async def test_s3_without_tls_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.example:9000")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with pytest.raises(SettingsError, match="AWS_ENDPOINT_URL"):
        async with open_blob_store(BlobSettings(blob_url="s3://bucket")):
            pass
    async with open_blob_store(BlobSettings(blob_url="s3://bucket", insecure=True)):
        pass


async def test_google_gets_metadata_and_content_type_of_small_blobs_and_large(google: str) -> None:
    async with open_blob_store(BlobSettings(blob_url=f"gs://{BUCKET}/kept")) as store:
        assert isinstance(store, gcs.GCSBlobStore)
        for size_bytes in (1, 2 * gcs.PART_BYTES + 1):
            content = _pieces(bytes(size_bytes), 300_001)
            await store.write_blob("a", content, content_type="x/y", metadata={"source": "gmail_push"})
            blob = store._find_blob("a")
            blob.reload()
            assert (blob.size, blob.content_type, blob.metadata) == (size_bytes, "x/y", {"source": "gmail_push"})


async def test_a_missing_bucket_of_google_is_unavailable_and_no_missing_blob(google: str) -> None:
    async with open_blob_store(BlobSettings(blob_url="gs://no-such-bucket")) as store:
        with pytest.raises(Unavailable):
            await store.write_blob("a", _pieces(b"x", 1), content_type="x/y")


async def test_google_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.setattr(gcs, "_RETRY", None)
    async with open_blob_store(BlobSettings(blob_url="gs://none")) as store:
        with pytest.raises(Unavailable):
            await store.has_blob("a")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "No such object: bucket/a", BlobNotFound),
        (404, "The specified bucket does not exist.", Unavailable),
        (400, "Metadata part is too large.", Rejected),
        (413, "", Rejected),
        (401, "", Unavailable),
        (403, "", Unavailable),
        (429, "", Unavailable),
        (503, "", Unavailable),
    ],
)
async def test_google_is_asked_again_only_where_the_same_request_may_pass(
    google: str, monkeypatch: pytest.MonkeyPatch, status: int, message: str, kind: type[Exception]
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise from_http_status(status, message)  # type: ignore[no-untyped-call]  # google-api-core has no types

    async with open_blob_store(BlobSettings(blob_url=f"gs://{BUCKET}")) as store:
        monkeypatch.setattr("google.cloud.storage.fileio.BlobReader.read", refuses)
        with pytest.raises(kind) as raised:
            await _read(store, "a")
    assert raised.type is kind


async def test_google_without_tls_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://store.example:9000")
    with pytest.raises(SettingsError, match="STORAGE_EMULATOR_HOST"):
        async with open_blob_store(BlobSettings(blob_url="gs://bucket")):
            pass
    async with open_blob_store(BlobSettings(blob_url="gs://bucket", insecure=True)):
        pass


async def test_google_without_credentials_says_which_variable_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def finds_none(**_: object) -> None:
        raise DefaultCredentialsError("none")  # type: ignore[no-untyped-call]  # google-auth has no types

    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setattr(gcs, "find_default_credentials", finds_none)
    with pytest.raises(SettingsError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        async with open_blob_store(BlobSettings(blob_url="gs://bucket")):
            pass
