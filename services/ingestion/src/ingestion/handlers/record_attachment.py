"""A record of `attachments` becomes a document, or one more attachment of a document that is known."""

import re

from ingestion.domain.lanes import Lane
from ingestion.handlers.remove_duplicate import DuplicateRemover
from ingestion.ports.blobs import DocumentBlobs
from ingestion.ports.intake import IntakeStore, Rereads
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored, derive_attachment_id, derive_blob_key
from mailroom_common.kafka.headers import REPLAY_ID, REPLAY_ID_PATTERN
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_ATTACHMENTS_RECORDED
from mailroom_common.topics import ATTACHMENTS_BACKFILL

log = get_logger()

_FILE_EXTENSION = "[a-z0-9]{1,8}"


class AttachmentRecorder:
    """The handler of `attachments` and `attachments-backfill`. Its transaction is what completes the Kafka record."""

    def __init__(self, intakes: IntakeStore, rereads: Rereads, blobs: DocumentBlobs) -> None:
        self._intakes = intakes
        self._rereads = rereads
        self._blobs = blobs
        self._remover = DuplicateRemover(intakes, rereads, blobs)

    async def __call__(self, record: IncomingRecord) -> None:
        if record.event is None:
            return  # a tombstone: these topics have none, and it would mean nothing
        if not isinstance(record.event, AttachmentStored):
            raise Rejected(f"a record of {record.topic.name} is no attachment")
        _require_own_blob(record.event)
        if (replay_id := record.headers.get(REPLAY_ID)) is not None and await self._replay(record.event, replay_id):
            return
        await self.record_stored(record.event, Lane.BACKFILL if record.topic is ATTACHMENTS_BACKFILL else Lane.LIVE)

    async def record_stored(self, stored: AttachmentStored, lane: Lane = Lane.LIVE) -> None:
        """Of a record, or of an upload by hand."""
        duplicate = await self._intakes.record_attachment(stored, lane)
        INGESTION_ATTACHMENTS_RECORDED.labels("document" if duplicate is None else "duplicate").inc()
        if duplicate is not None:
            # After the commit: until then no row says that the first attachment's blob is kept instead. A crash in
            # between leaves it to the record that comes again, or to the sweep where it was an upload by hand.
            await self._remover.remove_duplicate(duplicate)
            log.info("duplicate_recorded", attachment_id=stored.attachment_id)

    async def _replay(self, stored: AttachmentStored, replay_id: str) -> bool:
        """Has the document read again. False for an attachment that has to be recorded first: it came after the backup
        that our tables were restored from."""
        if re.fullmatch(REPLAY_ID_PATTERN, replay_id) is None:
            raise Rejected(f"the header {REPLAY_ID} is no id of a replay")
        if await self._rereads.request_by_attachment(stored, replay_id):
            INGESTION_ATTACHMENTS_RECORDED.labels("replayed").inc()
            return True
        if await self._rereads.has_content(stored.doc_source_id, stored.content_sha256):
            return False  # a duplicate, whose own blob was deleted
        if await self._blobs.has_blob(stored.blob_key):
            return False
        # Rows and blob are gone: deleted on purpose. A replay brings nothing of that back.
        INGESTION_ATTACHMENTS_RECORDED.labels("blob_gone").inc()
        log.info("attachment_replay_skipped", attachment_id=stored.attachment_id, replay_id=replay_id)
        return True


def _require_own_blob(stored: AttachmentStored) -> None:
    """Whoever can write a record must not reach the blob of another one by naming it: attachment and blob follow from
    doc source, message and part.

    Raises:
        Rejected: they do not.
    """
    if stored.attachment_id != derive_attachment_id(stored.doc_source_id, stored.message_id, stored.part_path):
        raise Rejected(f"attachment {stored.attachment_id} does not belong to the message of its record")
    extension = stored.blob_key.rpartition(".")[2]
    if not re.fullmatch(_FILE_EXTENSION, extension) or stored.blob_key != derive_blob_key(
        stored.attachment_id, extension
    ):
        raise Rejected(f"the record of attachment {stored.attachment_id} names a blob that is not its own")
