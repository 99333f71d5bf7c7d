"""The blob of a duplicate is deleted once the document's own was read and has the same content."""

from ingestion.ports.blobs import DocumentBlobs
from ingestion.ports.housekeeping import SweptBlob
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
        except Unavailable as error:
            # The store does not answer; it is tried again a day later.
            log.warning("duplicate_blob_postponed", attachment_id=duplicate.attachment_id, reason=describe_error(error))
            return SweptBlob.POSTPONED

    async def remove_duplicate(self, duplicate: DuplicateBlob) -> SweptBlob:
        """
        Raises:
            Rejected: it has other content than was recorded; it is kept.
            Unavailable: it is looked at again.
        """
        if await self._is_needed(duplicate):
            await self._duplicates.forget_duplicate(duplicate.attachment_id)
            return SweptBlob.KEPT
        try:
            await self._blobs.delete_blob(duplicate.key)
        except (Unavailable, Rejected) as error:
            # A store that is read from and deletes nothing, as one with a retention lock, holds up no record.
            BLOB_DELETIONS_FAILED.labels("duplicate").inc()
            # The store did not delete the blob of a duplicate; nothing is lost, and it is tried again.
            log.warning("duplicate_blob_kept", attachment_id=duplicate.attachment_id, reason=describe_error(error))
            return SweptBlob.POSTPONED
        await self._duplicates.forget_duplicate(duplicate.attachment_id)
        return SweptBlob.DELETED

    async def _is_needed(self, duplicate: DuplicateBlob) -> bool:
        """Only bytes that are kept elsewhere may go. Both blobs are read for that, each once: what was stored whole may
        be damaged since, and a record may be wrong about the content of its own blob, too."""
        own_sha256 = await self._blobs.compute_sha256(duplicate.key)
        if own_sha256 is None:
            return False  # it was deleted before
        if own_sha256 != duplicate.content_sha256:
            await self._duplicates.forget_duplicate(duplicate.attachment_id)
            raise Rejected(
                f"the blob of attachment {duplicate.attachment_id} has other content than its record says; it is kept"
            )
        kept_sha256 = await self._blobs.compute_sha256(duplicate.kept_key)
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
