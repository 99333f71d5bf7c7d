"""The blob store: a folder, an S3 bucket or a bucket of Google's behind one small protocol."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, compute_sha256
from mailroom_common.errors import SettingsError
from mailroom_common.settings import BlobSettings

__all__ = ["BlobNotFound", "BlobStore", "StoredBlob", "compute_sha256", "find_blob_folder", "open_blob_store"]


def open_blob_store(settings: BlobSettings) -> AbstractAsyncContextManager[BlobStore]:
    """The store that MAILROOM_BLOB_URL names; it is closed with the block.

    Raises:
        SettingsError: MAILROOM_BLOB_URL is of no kind that there is, or its store has no TLS.
    """
    # Imported here: a service with a folder does not pay for the client of a cloud.
    if folder := find_blob_folder(settings):
        from mailroom_common.blobs.folder import open_folder

        return open_folder(str(folder))
    url = urlsplit(settings.blob_url)
    if url.scheme == "s3" and url.netloc:
        from mailroom_common.blobs.s3 import open_s3

        return open_s3(url.netloc, url.path.strip("/"), ca_bundle=settings.ca_bundle, is_insecure=settings.insecure)
    if url.scheme == "gs" and url.netloc:
        from mailroom_common.blobs.gcs import open_gcs

        return open_gcs(url.netloc, url.path.strip("/"), ca_bundle=settings.ca_bundle, is_insecure=settings.insecure)
    raise SettingsError(
        "MAILROOM_BLOB_URL is wrong: file:///folder, s3://bucket/prefix or gs://bucket/prefix is needed."
    )


def find_blob_folder(settings: BlobSettings) -> Path | None:
    """The folder of a store that is one."""
    url = urlsplit(settings.blob_url)
    is_folder = url.scheme == "file" and url.netloc in ("", "localhost") and url.path
    return Path(unquote(url.path)) if is_folder else None
