"""One document from claim to result: fetch → read (`read_document`) → archive → result."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ingestion.domain import routing
from ingestion.domain.document import AttemptPolicy, DocumentLease, DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.lanes import Lane
from ingestion.domain.model_use import lack_model
from ingestion.domain.ocr_turns import OCRBusy
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import Trade
from ingestion.handlers.archive_document import LeaseLost, PDFArchiver
from ingestion.handlers.assist_reading import ReadingAssistant
from ingestion.handlers.read_by_templates import TenantTemplates
from ingestion.handlers.read_document import ReadingPurpose
from ingestion.handlers.read_pictures import read_document_with_pictures
from ingestion.ports.blobs import DocumentBlobs, FetchedFile
from ingestion.ports.leases import DocumentLeases
from ingestion.ports.readers import DocumentReaders, PictureReader
from ingestion.ports.templates import Templates
from mailroom_common.blobs import BlobNotFound
from mailroom_common.errors import Fatal, MailroomError, Retryable
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.logs import get_logger
from mailroom_common.metrics import (
    INGESTION_ATTEMPT_S,
    INGESTION_DOCUMENT_ATTEMPTS_FAILED,
    INGESTION_DOCUMENTS_FINISHED,
    INGESTION_DOCUMENTS_REREAD,
)
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile

log = get_logger()


class BlobMismatch(Retryable):
    """The blob is not the content that the record named: another write may be under way."""


class DocumentProcessor:
    """`renew_every_s` is well below the length of a lease. `clock` gives aware UTC datetimes. `assistant` asks a
    language model, None where no document is to have one; `templates` are what reviews have taught."""

    def __init__(
        self,
        leases: DocumentLeases,
        blobs: DocumentBlobs,
        open_readers: Callable[[Profile], AbstractAsyncContextManager[DocumentReaders]],
        router: ExtractionRouter,
        archiver: PDFArchiver,
        *,
        attempts: AttemptPolicy,
        renew_every_s: float,
        clock: Callable[[], datetime],
        pictures: PictureReader | None = None,
        assistant: ReadingAssistant | None = None,
        templates: Templates | None = None,
    ) -> None:
        self._leases = leases
        self._blobs = blobs
        self._open_readers = open_readers
        self._pictures = pictures
        self._router = router
        self._archiver = archiver
        self._assistant = assistant
        self._templates = templates
        self._attempts = attempts
        self._renew_every_s = renew_every_s
        self._clock = clock

    async def process_next(self, lanes: Sequence[Lane] = tuple(Lane)) -> bool:
        """Claim a document and process it to its outcome or its next attempt. False when there was none to claim."""
        lease = await self._leases.claim_document(lanes)
        if lease is None:
            return False
        try:
            await self._process_lease(lease)
        except LeaseLost:
            # The lease ran out while the document was read, and another worker has it: this result is dropped.
            log.warning("lease_lost", document_id=lease.document_id, attempt=lease.attempt)
        return True

    async def _process_lease(self, lease: DocumentLease) -> None:
        if self._attempts.max_attempts < lease.attempt:
            # Claims count, not failures: the workers of the last attempts died before they could report one.
            await self._finish_document(
                lease, DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.INTERNAL_ERROR)
            )
            return
        try:
            with INGESTION_ATTEMPT_S.time():
                outcome = await self._read_while_renewing(lease)
            await self._finish_document(lease, outcome)
        except (asyncio.CancelledError, Fatal):
            # The process stops: the next one need not wait for the end of the lease.
            await self._leases.release_document(lease, not_before=self._clock(), error="stopped", count_attempt=False)
            raise
        except LeaseLost:
            raise
        except OCRBusy as busy:
            # Others are read meanwhile: what has a text layer never waits for pictures.
            await self._leases.release_document(
                lease,
                not_before=self._clock() + timedelta(seconds=busy.retry_in_s),
                error=str(busy),
                count_attempt=False,
            )
        except Exception as error:  # noqa: BLE001  # the edge of one document: others go on
            await self._handle_failure(lease, error)

    async def _read_while_renewing(self, lease: DocumentLease) -> DocumentOutcome:
        reading = asyncio.create_task(self._read_and_archive(lease))
        renewing = asyncio.create_task(self._renew_lease(lease))
        try:
            await asyncio.wait({reading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                renewing.result()  # raises what ended it
                raise LeaseLost(lease.document_id)
            return reading.result()
        finally:
            for task in (reading, renewing):
                task.cancel()
            await asyncio.gather(reading, renewing, return_exceptions=True)

    async def _renew_lease(self, lease: DocumentLease) -> None:
        """Returns when the lease is lost."""
        while True:
            await asyncio.sleep(self._renew_every_s)
            # A database that is down for a moment costs nothing yet: the lease outlasts several renewals.
            with suppress(Retryable):
                if not await self._leases.renew_lease(lease):
                    return

    async def _read_and_archive(self, lease: DocumentLease) -> DocumentOutcome:
        try:
            return await self._read_blob(lease, lease.blob_key)
        except (BlobNotFound, BlobMismatch):
            outcome = await self._read_any_copy(lease)
            if outcome is None:
                raise
            return outcome

    async def _read_any_copy(self, lease: DocumentLease) -> DocumentOutcome | None:
        """The same content as another attachment brought it, None where no such copy is left.

        After a restore a document may name the blob that was deleted as a duplicate's. The others are looked for at
        each reading, and the document is not made to name another one: a copy is deleted only while the blob that the
        document names is there (`DuplicateRemover`), in whatever order that and this happen.
        """
        for key in await self._leases.list_copies(lease):
            with suppress(BlobNotFound, BlobMismatch):
                return await self._read_blob(lease, key)
        return None

    async def _read_blob(self, lease: DocumentLease, key: str) -> DocumentOutcome:
        async with self._blobs.fetch_blob(key) as file:
            # Before it is read: a result must never be that of other bytes than its record named.
            if file.sha256 != lease.content_sha256:
                raise BlobMismatch(f"the blob of document {lease.document_id} has other content")
            outcome = await self._read_document(lease, file)
            trades = [Trade.from_json(trade) for trade in lease.find_current_outcome(outcome).list_trades()]
            return await self._archiver.archive_document(lease, file, outcome, trades)

    async def _read_document(self, lease: DocumentLease, file: FetchedFile) -> DocumentOutcome:
        if (unopened := routing.route_container(lease.content_type)) is not None:
            return unopened
        if (without_reader := routing.route_without_reader(lease.profile)) is not None:
            return without_reader
        try:
            purpose = ReadingPurpose(
                lease.profile,
                lease.doc_source_id,
                self._router,
                self._bind_templates(lease),
                queue=f"{lease.lane}:{lease.doc_source_id}",
            )
            open_readers = partial(self._open_readers, lease.profile)
            password = None if lease.password is None else lease.password.text
            reading = await read_document_with_pictures(
                open_readers, self._pictures, file.path, purpose, password=password
            )
        except UnreadableFile as error:
            return routing.route_unreadable(error.reason)
        except ParserLimitReached as error:
            # The file needed more memory, time or output than one file may have; it goes to review and is not read
            # again.
            log.warning("parser_limit_reached", document_id=lease.document_id, limit=error.limit)
            return routing.route_unreadable(ReviewReason.READER_LIMIT)
        except ParserCrashed as error:
            if error.killed and not self._attempts.is_spent(lease.attempt):
                raise  # another process killed it: the next attempt may do better
            # The file ended its parser process; it goes to review and is not read again.
            log.warning("reader_crashed", document_id=lease.document_id, reason=str(error))
            return routing.route_unreadable(ReviewReason.READER_CRASHED)
        if reading.pictures_error is not None:
            # A picture ended its OCR process or reached its limit; the document goes to review with what was read.
            log.warning("pictures_not_read", document_id=lease.document_id, reason=str(reading.pictures_error))
        # What a picture shows with doubt, a model that is given those very words cannot confirm. What its sender has
        # locked is shown to nobody else.
        is_for_us_alone = lease.password is not None or reading.outcome.reason is ReviewReason.OCR_UNCERTAIN
        if is_for_us_alone:
            return reading.outcome
        if self._assistant is None:
            return lack_model(reading.outcome, reading.transcript)
        # The parser process was given back: a model's answer takes longer than many documents.
        assisted = await self._assistant.assist_outcome(lease, file, reading.outcome, reading.transcript)
        missing = replace(reading.outcome.missing_readers, model=assisted.missing_readers.model)
        assisted = replace(
            assisted,
            boxes=reading.outcome.boxes,
            pages_not_read=reading.outcome.pages_not_read,
            missing_readers=missing,
        )
        return self._router.require_confidence(assisted, lease.doc_source_id)

    def _bind_templates(self, lease: DocumentLease) -> TenantTemplates | None:
        return None if self._templates is None else TenantTemplates(self._templates, lease.tenant_id)

    async def _finish_document(self, lease: DocumentLease, outcome: DocumentOutcome) -> None:
        if lease.former is not None:
            await self._finish_reread(lease, outcome, lease.former)
            return
        finished = await self._leases.finish_document(lease, outcome)
        if finished is None:
            raise LeaseLost(lease.document_id)
        INGESTION_DOCUMENTS_FINISHED.labels(finished.status.value, finished.reason or "").inc()
        log.info(
            "document_finished",
            document_id=lease.document_id,
            doc_source_id=lease.doc_source_id,
            status=finished.status.value,
            reason=finished.reason,
            reader=finished.reader,
            attempt=lease.attempt,
        )

    async def _finish_reread(self, lease: DocumentLease, outcome: DocumentOutcome, former: DocumentOutcome) -> None:
        """Only a reading takes the place of the former outcome: one that failed says nothing about the document."""
        if former.archive_path is not None:
            # The copy was written by an earlier reading, and is kept whatever this one says.
            outcome = outcome.with_archive_path(former.archive_path)
        failed = None if outcome.takes_place_of(former) else outcome
        current = outcome if failed is None else former
        if current is former and outcome.archive_path is not None:
            current = former.with_archive_path(outcome.archive_path)
        finished = await self._leases.finish_document(lease, current, failed=failed)
        if finished is None:
            raise LeaseLost(lease.document_id)
        ending = "failed" if failed is not None else "unchanged" if finished == former else "changed"
        INGESTION_DOCUMENTS_REREAD.labels(ending).inc()
        log.info(
            "reread_finished",
            document_id=lease.document_id,
            doc_source_id=lease.doc_source_id,
            ending=ending,
            status=finished.status.value,
            reason=outcome.reason,
            reader=outcome.reader,
        )

    async def _handle_failure(self, lease: DocumentLease, error: Exception) -> None:
        cause = str(error) if isinstance(error, MailroomError) else _describe_location(error)
        # A store that is down says nothing about the document: it waits as long as that takes.
        count_attempt = not isinstance(error, Retryable) or isinstance(error, BlobMismatch)
        if count_attempt and self._attempts.is_spent(lease.attempt):
            # All attempts are used up; the document ends as `failed` with its reason.
            log.error("document_failed", document_id=lease.document_id, attempt=lease.attempt, reason=cause)
            await self._finish_document(
                lease, DocumentOutcome(status=ResultStatus.FAILED, reason=_failure_reason(error))
            )
            return
        INGESTION_DOCUMENT_ATTEMPTS_FAILED.inc()
        # The attempt failed; the document is claimed again after its pause.
        log.warning("document_attempt_failed", document_id=lease.document_id, attempt=lease.attempt, reason=cause)
        not_before = self._clock() + self._attempts.pause_after(lease.attempt)
        await self._leases.release_document(lease, not_before=not_before, error=cause, count_attempt=count_attempt)


def _failure_reason(error: Exception) -> ReviewReason:
    match error:
        case BlobNotFound():
            return ReviewReason.BLOB_MISSING
        case BlobMismatch():
            return ReviewReason.BLOB_MISMATCH
        case ParserCrashed():
            return ReviewReason.READER_CRASHED
        case _:
            return ReviewReason.INTERNAL_ERROR


def _describe_location(error: Exception) -> str:
    """Kind and place of an error: a library's message may quote the untrusted file, so it is not repeated."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    return " ".join([type(error).__name__, *(f"in {frame.name}, {frame.filename}:{frame.lineno}" for frame in place)])
