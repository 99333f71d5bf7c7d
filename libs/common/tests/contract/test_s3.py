"""What only S3 does, as moto's server or a small server of the test plays it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aioboto3
import pytest
import trustme
from blob_bytes import BUCKET, split_bytes
from botocore.exceptions import ClientError

from mailroom_common.blobs import open_blob_store
from mailroom_common.blobs.s3 import PART_BYTES, S3BlobStore
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.settings import BlobSettings


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
        big = split_bytes(bytes(PART_BYTES + 1), 100_000)
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
        await S3BlobStore(client, BUCKET, "").write_blob(
            "a", split_bytes(bytes(size_bytes), 100_000), content_type="x/y"
        )


async def test_missing_bucket_is_unavailable_and_no_missing_blob(aws: str) -> None:
    async with open_blob_store(BlobSettings(blob_url="s3://no-such-bucket")) as store:
        with pytest.raises(Unavailable):
            await store.write_blob("a", split_bytes(b"x", 1), content_type="x/y")


async def test_s3_without_tls_is_for_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.example:9000")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with pytest.raises(SettingsError, match="AWS_ENDPOINT_URL"):
        async with open_blob_store(BlobSettings(blob_url="s3://bucket")):
            pass
    async with open_blob_store(BlobSettings(blob_url="s3://bucket", insecure=True)):
        pass
