"""A blob that its store keeps is said and counted, and ends nothing."""

import asyncio
from unittest.mock import Mock

import pytest
from prometheus_client import REGISTRY

from mailroom_common.blobs import BlobStore
from mailroom_common.blobs.deletion import try_to_delete_blob
from mailroom_common.errors import Rejected, Unavailable


class KeepingStore(Mock):
    """Raises `failure` for each deletion, or answers none where that is None."""

    failure: Exception | None = None

    async def delete_blob(self, _key: str) -> None:
        if self.failure is None:
            await asyncio.Event().wait()
            return
        raise self.failure


def count_failures() -> float:
    return REGISTRY.get_sample_value("mailroom_blob_deletions_failed_total", {"kind": "upload"}) or 0.0


@pytest.mark.parametrize("failure", [Unavailable("the store is away"), Rejected("under a retention lock"), None])
async def test_a_blob_that_is_kept_is_counted_and_said(failure: Exception | None) -> None:
    store, before = KeepingStore(BlobStore), count_failures()
    store.failure = failure
    reason = await try_to_delete_blob(store, "blobs/a.pdf", kind="upload", max_s=0.01)
    assert reason is not None
    assert failure is None or str(failure) in reason
    assert count_failures() == before + 1


async def test_a_deleted_blob_is_no_failure() -> None:
    store, before = Mock(BlobStore), count_failures()
    assert await try_to_delete_blob(store, "blobs/a.pdf", kind="upload") is None
    store.delete_blob.assert_awaited_once_with("blobs/a.pdf")
    assert count_failures() == before
