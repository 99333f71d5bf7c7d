"""Blobs in Google Cloud Storage, by Google's library in threads: small ones in one request, others in parts."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import requests
from google.api_core.exceptions import GoogleAPICallError, NotFound, RetryError
from google.auth import default as find_default_credentials
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud.storage import Blob, Bucket, Client
from google.cloud.storage.retry import DEFAULT_RETRY

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, validate_key
from mailroom_common.errors import MailroomError, Rejected, SettingsError, Unavailable
from mailroom_common.transport_security import is_loopback

PART_BYTES = 4 * 1024 * 1024  # a multiple of 256 KiB, as resumable uploads ask for
_EMULATOR = "STORAGE_EMULATOR_HOST"  # Google's own variable, with the scheme
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_NO_BUCKET = "the bucket of MAILROOM_BLOB_URL does not exist"
_TIMEOUT_S = (5.0, 30.0)  # to connect, and for each read
_RETRY = DEFAULT_RETRY.with_timeout(30.0)
# Errors of the request and not of the store: the same request would be refused again.
_PERMANENT_CODES = frozenset({400, 412, 413, 414})


@asynccontextmanager
async def open_gcs(
    bucket: str, prefix: str, *, ca_bundle: Path | None = None, is_insecure: bool = False
) -> AsyncIterator[BlobStore]:
    """The client takes Google's own credentials (`GOOGLE_APPLICATION_CREDENTIALS`, or the machine's) and
    `STORAGE_EMULATOR_HOST`.

    Raises:
        SettingsError: there are no credentials, or the store would be spoken to without TLS beyond this machine.
    """
    emulator = os.environ.get(_EMULATOR, "")
    if emulator:
        _require_tls(emulator, is_insecure)
    session = await asyncio.to_thread(_open_session, str(ca_bundle or certifi.where()), is_emulated=bool(emulator))
    try:
        # No project: none of our calls names one.
        client = Client(project=None, credentials=session.credentials, _http=session)
        yield GCSBlobStore(client.bucket(bucket), prefix)
    finally:
        session.close()


def _require_tls(emulator: str, is_insecure: bool) -> None:
    address = urlsplit(emulator)
    if address.scheme != "https" and not is_loopback(address.hostname or "") and not is_insecure:
        raise SettingsError(
            f"{_EMULATOR} is wrong: {address.scheme or 'no scheme'}:// is for loopback addresses only: use https://, "
            "or set MAILROOM_INSECURE=1 on a site without real mail."
        )


def _open_session(bundle: str, *, is_emulated: bool) -> Any:  # Any: google-auth has no types
    anonymous: Callable[[], Any] = AnonymousCredentials
    open_authorized: Callable[..., Any] = AuthorizedSession
    try:
        credentials = anonymous() if is_emulated else find_default_credentials(scopes=[_SCOPE])[0]
    except DefaultCredentialsError as error:
        raise SettingsError(
            "MAILROOM_BLOB_URL is wrong: gs:// needs Google's credentials: GOOGLE_APPLICATION_CREDENTIALS names their "
            "file, or the machine has a service account."
        ) from error
    for_tokens = _ignore_environment(requests.Session(), bundle)
    return _ignore_environment(open_authorized(credentials, auth_request=Request(for_tokens)), bundle)


def _ignore_environment(session: Any, bundle: str) -> Any:  # Any: as above
    """The variables for proxies and bundles are not trusted, as for every client of ours (ADR 10)."""
    session.trust_env = False
    session.verify = bundle
    return session


class GCSBlobStore:
    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        blob = self._find_blob(key)
        blob.metadata = dict(metadata or {})
        digest, size_bytes, held, writer = sha256(), 0, bytearray(), None
        try:
            async for chunk in chunks:
                digest.update(chunk)
                size_bytes += len(chunk)
                held += chunk
                if len(held) >= PART_BYTES:
                    writer = writer or blob.open(
                        "wb", chunk_size=PART_BYTES, content_type=content_type, timeout=_TIMEOUT_S, retry=_RETRY
                    )
                    await _call(key, writer.write, bytes(held))
                    held.clear()
            if writer is None:
                await _call(key, blob.upload_from_string, bytes(held), content_type, timeout=_TIMEOUT_S, retry=_RETRY)
            else:
                await _call(key, writer.write, bytes(held))
                await _call(key, writer.close)
        except BaseException as error:
            if writer is not None:
                # Closing it would make what came so far a blob: also when it is thrown away. Parts of an upload that
                # is given up are never seen, and Google deletes them after a week if this call fails too.
                with suppress(MailroomError):
                    await _call(key, writer.terminate)
            if isinstance(error, BlobNotFound):
                # There is nothing to find when a blob is written but its bucket.
                raise Unavailable(_NO_BUCKET) from error
            raise
        return StoredBlob(size_bytes, digest.hexdigest())

    async def read_blob(self, key: str) -> AsyncIterator[bytes]:
        reader = self._find_blob(key).open("rb", chunk_size=PART_BYTES, timeout=_TIMEOUT_S, retry=_RETRY)
        while chunk := await _call(key, reader.read, PART_BYTES):
            yield chunk

    async def delete_blob(self, key: str) -> None:
        with suppress(BlobNotFound):
            await _call(key, self._find_blob(key).delete, timeout=_TIMEOUT_S, retry=_RETRY)

    async def has_blob(self, key: str) -> bool:
        try:
            await _call(key, self._find_blob(key).reload, timeout=_TIMEOUT_S, retry=_RETRY)
        except BlobNotFound:
            return False
        return True

    def _find_blob(self, key: str) -> Blob:
        return self._bucket.blob(self._prefix + validate_key(key))


async def _call(key: str, function: Callable[..., Any], *values: object, **options: object) -> Any:
    """Any: whatever the library's method returns."""
    try:
        return await asyncio.to_thread(function, *values, **options)
    except NotFound as error:
        # The same answer for a bucket that is missing: that is the site's trouble, and says nothing of the blob.
        if "bucket does not exist" in str(error):
            raise Unavailable(_NO_BUCKET) from error
        raise BlobNotFound(f"there is no blob {key}") from error
    except GoogleAPICallError as error:
        kind = Rejected if error.code in _PERMANENT_CODES else Unavailable
        raise kind(f"Google Cloud Storage answered {error.code}") from error
    except (RetryError, GoogleAuthError, requests.RequestException, OSError) as error:
        raise Unavailable(f"Google Cloud Storage: {type(error).__name__}") from error
