"""The blob of a duplicate is deleted once the document's own was read and has the same content."""

from ingestion.ports.blobs import DocumentBlobs
from ingestion.ports.housekeeping import MAX_UNDELETED_COUNTED, SweptBlob
from ingestion.ports.intake import DuplicateBlob, Rereads, UndeletedDuplicates
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import BLOB_DELETIONS_FAILED
from mailroom_common.retries import describe_error

log = get_logger()


class DuplicateRemover:
    """The transaction that records a duplicate remembers its blob. So whatever happens between that and the removal, it
    is looked at again. `BlobSweep` of ports/housekeeping.py."""

    def __init__(self, duplicates: UndeletedDuplicates, rereads: Rereads, blobs: DocumentBlobs) -> None:
        self._duplicates = duplicates
        self._rereads = rereads
        self._blobs = blobs

    @property
    def kind(self) -> str:
        return "duplicate"

    async def count_undeleted(self) -> int:
        return await self._duplicates.count_duplicates(up_to=MAX_UNDELETED_COUNTED)

    async def sweep_blob(self) -> SweptBlob | None:
        duplicate = await self._duplicates.claim_duplicate()
        if duplicate is None:
            return None
        try:
            return await self.remove_duplicate(duplicate)
        except Rejected as error:
            # It is no duplicate by its bytes, and stays.
            log.warning(
                "duplicate_blob_mismatched", attachment_id=duplicate.attachment_id, reason=describe_error(error)
            )
            return SweptBlob.KEPT

    async def remove_duplicate(self, duplicate: DuplicateBlob) -> SweptBlob:
        """Delete it, unless it is needed. A store that cannot be read, or that deletes nothing, as one with a retention
        lock, holds up no record.

        Raises:
            Rejected: it has other content than was recorded; it is kept.
            Unavailable: Postgres is away; it is looked at again.
        """
        try:
            own_sha256 = await self._blobs.compute_sha256(duplicate.key)
            is_as_recorded = own_sha256 == duplicate.content_sha256
            kept_sha256 = await self._blobs.compute_sha256(duplicate.kept_key) if is_as_recorded else None
        except Unavailable as error:
            BLOB_DELETIONS_FAILED.labels(self.kind).inc()
            # The store did not give the bytes that are compared before the blob of a duplicate goes; it is tried again.
            log.warning("duplicate_blob_postponed", attachment_id=duplicate.attachment_id, reason=describe_error(error))
            return SweptBlob.POSTPONED
        if own_sha256 is not None and await self._is_needed(duplicate, own_sha256, kept_sha256):
            await self._duplicates.forget_duplicate(duplicate.attachment_id)
            return SweptBlob.KEPT
        try:
            await self._blobs.delete_blob(duplicate.key)
        except (Unavailable, Rejected) as error:
            BLOB_DELETIONS_FAILED.labels(self.kind).inc()
            # The store did not delete the blob of a duplicate; nothing is lost, and it is tried again.
            log.warning("duplicate_blob_kept", attachment_id=duplicate.attachment_id, reason=describe_error(error))
            return SweptBlob.POSTPONED
        await self._duplicates.forget_duplicate(duplicate.attachment_id)
        return SweptBlob.DELETED

    async def _is_needed(self, duplicate: DuplicateBlob, own_sha256: str, kept_sha256: str | None) -> bool:
        """Only bytes that are kept elsewhere may go. Both blobs were read for that: what was stored whole may be
        damaged since, and a record may be wrong about the content of its own blob, too."""
        if own_sha256 != duplicate.content_sha256:
            await self._duplicates.forget_duplicate(duplicate.attachment_id)
            raise Rejected(
                f"the blob of attachment {duplicate.attachment_id} has other content than its record says; it is kept"
            )
        if kept_sha256 == own_sha256:
            return False
        # The blob that a document names is gone, as after a restore that brought the attachments in another order, or
        # has other bytes than it should: the copy of its duplicate is the only good one, and is kept.
        log.warning(
            "kept_blob_unusable",
            kept_key=duplicate.kept_key,
            copy_key=duplicate.key,
            problem="missing" if kept_sha256 is None else "other_content",
        )
        await self._rereads.request_from_copy(duplicate)
        return True
