"""A record of `attachments` becomes a document, or one more attachment of a document that is known."""

from ingestion.ports import DocumentBlobs, IntakeStore
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_ATTACHMENTS_RECORDED

log = get_logger()


class AttachmentRecorder:
    """The handler of `attachments` and `attachments-backfill`. Its transaction is what completes the Kafka record."""

    def __init__(self, intakes: IntakeStore, blobs: DocumentBlobs) -> None:
        self._intakes = intakes
        self._blobs = blobs

    async def __call__(self, record: IncomingRecord) -> None:
        if record.event is None:
            return  # a tombstone: these topics have none, and it would mean nothing
        if not isinstance(record.event, AttachmentStored):
            raise Rejected(f"a record of {record.topic.name} is no attachment")
        superfluous_blob = await self._intakes.record_attachment(record.event)
        INGESTION_ATTACHMENTS_RECORDED.labels("document" if superfluous_blob is None else "duplicate").inc()
        if superfluous_blob is not None:
            # After the commit: until then no row says that the first attachment's blob is kept instead. A crash in
            # between leaves it to the record that comes again, which names the same blob.
            await self._blobs.delete_blob(superfluous_blob)
            log.info("duplicate_recorded", attachment_id=record.event.attachment_id)
