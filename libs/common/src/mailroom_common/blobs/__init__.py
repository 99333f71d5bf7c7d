"""The blob store: a folder or an S3 bucket behind one small protocol."""

from mailroom_common.blobs.store import BlobNotFound, BlobStore, StoredBlob, open_blob_store

__all__ = ["BlobNotFound", "BlobStore", "StoredBlob", "open_blob_store"]
