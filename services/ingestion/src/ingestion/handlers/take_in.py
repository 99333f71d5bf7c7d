"""An attachment arrives: it becomes a document, or one more attachment of a document that is there."""

from ingestion.ports import Blobs, Intakes
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_TAKEN_IN

log = get_logger()


class TakeIn:
    """The handler of `attachments` and `attachments-backfill`. Its transaction is what completes the Kafka record."""

    def __init__(self, intakes: Intakes, blobs: Blobs) -> None:
        self._intakes = intakes
        self._blobs = blobs

    async def __call__(self, record: IncomingRecord) -> None:
        if record.event is None:
            return  # a tombstone: these topics have none, and it would mean nothing
        if not isinstance(record.event, AttachmentStored):
            raise Rejected(f"a record of {record.topic.name} is no attachment")
        unneeded = await self._intakes.take_in(record.event)
        INGESTION_TAKEN_IN.labels("document" if unneeded is None else "duplicate").inc()
        if unneeded is not None:
            # After the commit, and again with a record that comes again: until then the row does not say so.
            await self._blobs.delete(unneeded)
            log.info("duplicate_taken_in", attachment_id=record.event.attachment_id)
