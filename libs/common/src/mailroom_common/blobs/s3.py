"""Blobs in S3: small ones in one request, others in parts, so that memory does not grow with their size.

Multipart is written out here because `upload_fileobj` holds three to seven times as much (51 to 108 MB at its peak for
what takes 14 to 16 MB this way).
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aioboto3
from aiobotocore.config import AioConfig
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, validate_key
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.transport_security import is_loopback

if TYPE_CHECKING:
    from types_aiobotocore_s3 import S3Client
    from types_aiobotocore_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 5 * 1024 * 1024  # the least that S3 takes for any part but the last
_READ_BYTES = 256 * 1024
# Errors of the request and not of S3: the same request would be refused again.
_PERMANENT_CODES = frozenset({"MetadataTooLarge", "KeyTooLongError", "EntityTooLarge", "InvalidArgument"})
_CONFIG = AioConfig(connect_timeout=5, read_timeout=30, retries={"max_attempts": 3, "mode": "standard"})


@asynccontextmanager
async def open_s3(
    bucket: str, prefix: str, *, ca_bundle: Path | None = None, is_insecure: bool = False
) -> AsyncIterator[BlobStore]:
    """The client honours AWS's own standard variables, `AWS_ENDPOINT_URL` among them, after `ca_bundle`.

    Raises:
        SettingsError: the store would be spoken to without TLS beyond this machine.
    """
    verify = None if ca_bundle is None else str(ca_bundle)
    async with aioboto3.Session().client("s3", config=_CONFIG, verify=verify) as client:
        _require_tls(client.meta.endpoint_url, is_insecure)
        yield S3BlobStore(client, bucket, prefix)


def _require_tls(endpoint_url: str, is_insecure: bool) -> None:
    endpoint = urlsplit(endpoint_url)
    if endpoint.scheme != "https" and not is_loopback(endpoint.hostname or "") and not is_insecure:
        raise SettingsError(
            f"AWS_ENDPOINT_URL is wrong: {endpoint.scheme}:// is for loopback addresses only: use https://, "
            "or set MAILROOM_INSECURE=1 on a site without real mail."
        )


class S3BlobStore:
    def __init__(self, client: "S3Client", bucket: str, prefix: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        hashed = _HashingReader(chunks)
        parts = _split_parts(hashed.read_chunks())
        first = await anext(parts, b"")
        name = self._object_key(key)
        with _s3_errors(key):
            if len(first) < PART_BYTES:
                await self._client.put_object(
                    Bucket=self._bucket,
                    Key=name,
                    Body=BytesIO(first),
                    ContentType=content_type,
                    Metadata=dict(metadata or {}),
                )
            else:
                await self._write_parts(name, first, parts, content_type, metadata or {})
        return StoredBlob(hashed.size_bytes, hashed.digest.hexdigest())

    async def _write_parts(
        self, name: str, first: bytes, rest: AsyncIterator[bytes], content_type: str, metadata: Mapping[str, str]
    ) -> None:
        started = await self._client.create_multipart_upload(
            Bucket=self._bucket, Key=name, ContentType=content_type, Metadata=dict(metadata)
        )
        upload_id = started["UploadId"]
        try:
            parts = [await self._write_part(name, upload_id, 1, first)]
            async for part in rest:
                parts.append(await self._write_part(name, upload_id, len(parts) + 1, part))
            await self._client.complete_multipart_upload(
                Bucket=self._bucket, Key=name, UploadId=upload_id, MultipartUpload={"Parts": parts}
            )
        except BaseException:
            # Parts of an upload that is never completed are invisible and still paid for.
            await self._client.abort_multipart_upload(Bucket=self._bucket, Key=name, UploadId=upload_id)
            raise

    async def _write_part(self, name: str, upload_id: str, number: int, part: bytes) -> "CompletedPartTypeDef":
        answer = await self._client.upload_part(
            Bucket=self._bucket, Key=name, UploadId=upload_id, PartNumber=number, Body=BytesIO(part)
        )
        return {"PartNumber": number, "ETag": answer["ETag"]}

    async def read_blob(self, key: str) -> AsyncIterator[bytes]:
        with _s3_errors(key):
            answer = await self._client.get_object(Bucket=self._bucket, Key=self._object_key(key))
            body = answer["Body"]
            try:
                while chunk := await body.read(_READ_BYTES):
                    yield chunk
            finally:
                body.close()  # a reader that stops early returns the connection too

    async def delete_blob(self, key: str) -> None:
        with _s3_errors(key):
            await self._client.delete_object(Bucket=self._bucket, Key=self._object_key(key))

    async def has_blob(self, key: str) -> bool:
        try:
            with _s3_errors(key):
                await self._client.head_object(Bucket=self._bucket, Key=self._object_key(key))
        except BlobNotFound:
            return False
        return True

    def _object_key(self, key: str) -> str:
        return self._prefix + validate_key(key)


class _HashingReader:
    """Counts and hashes the chunks that are read through it."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self.digest = sha256()
        self.size_bytes = 0

    async def read_chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self.digest.update(chunk)
            self.size_bytes += len(chunk)
            yield chunk


async def _split_parts(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces of PART_BYTES; the last is what is left."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        while len(held) >= PART_BYTES:
            yield bytes(held[:PART_BYTES])
            del held[:PART_BYTES]
    if held:
        yield bytes(held)


class _s3_errors:  # noqa: N801  # a context manager, named as its `with` statement reads
    def __init__(self, key: str) -> None:
        self._key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, ClientError):
            code = error.response.get("Error", {}).get("Code", "?")
            if code in ("404", "NoSuchKey", "NotFound"):
                raise BlobNotFound(f"there is no blob {self._key}") from error
            raise (Rejected if code in _PERMANENT_CODES else Unavailable)(f"S3 answered {code}") from error
        if isinstance(error, BotoCoreError | HTTPClientError | OSError | TimeoutError):
            raise Unavailable(f"S3: {type(error).__name__}") from error
