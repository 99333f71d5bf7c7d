"""The copy of a document's PDF that the archive keeps: one archiver for the documents of every source."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from ingestion.domain import routing
from ingestion.domain.archive import (
    KeyedTrade,
    build_archive_metadata,
    build_archive_paths,
    build_trade_key,
    is_archived,
)
from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.ports.blobs import DocumentBlobs, FetchedFile
from ingestion.ports.leases import DocumentLeases
from mailroom_common.errors import MailroomError, Rejected, Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_ARCHIVE_COPIES

log = get_logger()

# A store that fails for a moment does not undo what was read: reading a document again takes longer than these.
DEFAULT_RETRY_PAUSES_S = (0.5, 2.0, 5.0)


class LeaseLost(MailroomError):
    """Another worker holds the document by now: what this one found out is dropped."""


class PDFArchiver:
    """`sources` says by provider how documents came. `clock` gives aware UTC datetimes."""

    def __init__(
        self,
        leases: DocumentLeases,
        blobs: DocumentBlobs,
        *,
        sources: Mapping[str, str],
        clock: Callable[[], datetime],
        retry_pauses_s: Sequence[float] = DEFAULT_RETRY_PAUSES_S,
    ) -> None:
        self._leases = leases
        self._blobs = blobs
        self._sources = sources
        self._clock = clock
        self._retry_pauses_s = retry_pauses_s

    async def archive_document(
        self, lease: DocumentLease, file: FetchedFile, outcome: DocumentOutcome, trades: Sequence[KeyedTrade] = ()
    ) -> DocumentOutcome:
        """The outcome with the path of the copy, once that is written; the same outcome where there is to be none.

        Raises:
            LeaseLost
            Unavailable: the store does not take the copy now. The path stays reserved for the next attempt.
        """
        current = lease.find_current_outcome(outcome)
        if lease.former is not None and (lease.former.archive_path is not None or not current.is_reading):
            return outcome  # it has its copy, or this reading changes nothing
        if not is_archived(lease.profile, current, file.content_type):
            return outcome
        now, attachment = self._clock(), lease.first_attachment
        trade_key = build_trade_key(trades, sender=attachment.sender_address)
        # Reserved before it is written: two documents never share a copy, and an attempt after a crash writes to the
        # same path, whatever it reads.
        path = await self._leases.reserve_archive_path(
            lease, build_archive_paths(attachment, taken_on=now.date(), trade_key=trade_key)
        )
        if path is None:
            raise LeaseLost(lease.document_id)
        source = self._sources.get(attachment.provider, attachment.provider)
        metadata = build_archive_metadata(attachment, source=source, processed_at=now, trade_key=trade_key)
        try:
            await self._write_copy(lease, file, path, metadata)
        except Rejected as error:
            return self._route_refusal(lease, outcome, error)
        INGESTION_ARCHIVE_COPIES.labels("written").inc()
        return outcome.with_archive_path(path)

    async def _write_copy(
        self, lease: DocumentLease, file: FetchedFile, path: str, metadata: Mapping[str, str]
    ) -> None:
        for pause_s in self._retry_pauses_s:
            try:
                await self._blobs.write_archive_copy(file, path, metadata=metadata)
                return
            except Unavailable as error:
                INGESTION_ARCHIVE_COPIES.labels("retried").inc()
                # The store did not take the copy for the archive; it is written again, and what was read is kept.
                log.warning("archive_copy_retried", document_id=lease.document_id, reason=str(error))
                await asyncio.sleep(pause_s)
        await self._blobs.write_archive_copy(file, path, metadata=metadata)

    def _route_refusal(self, lease: DocumentLease, outcome: DocumentOutcome, error: Rejected) -> DocumentOutcome:
        INGESTION_ARCHIVE_COPIES.labels("refused").inc()
        refused = routing.route_archive_refusal(outcome)
        # Reading the document again would end here again.
        log.error(
            "archive_copy_refused",
            document_id=lease.document_id,
            attempt=lease.attempt,
            document_status=refused.status.value,
            reason=str(error),
        )
        return refused
