"""One document from claim to result: fetch → transcribe → classify → extract → route → archive → result.

Classifying comes after transcribing, since what tells an invoice from a newsletter is its text.
"""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from ingestion.domain import routing
from ingestion.domain.archive import archive_metadata, archive_paths
from ingestion.domain.content import PDF
from ingestion.domain.document import Lease, Outcome, RetryRule
from ingestion.ports import Blobs, Classifies, Extracts, Fetched, Leases, Transcribes
from mailroom_common.blobs import BlobNotFound
from mailroom_common.errors import Fatal, MailroomError, Rejected, Retryable
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.logs import get_logger
from mailroom_common.metrics import INGESTION_ATTEMPT_S, INGESTION_FINISHED, INGESTION_PUT_BACK
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile

log = get_logger()


class BlobMismatch(Retryable):
    """The blob is not the content that the record spoke of: another write may be under way."""


class LeaseLost(MailroomError):
    """Somebody else holds the document by now: whatever was found out is dropped."""


class ProcessDocument:
    """`renew_every_s` is well below the length of a lease. `clock` gives aware UTC datetimes."""

    def __init__(
        self,
        leases: Leases,
        blobs: Blobs,
        transcriber: Transcribes,
        classifier: Classifies,
        extractor: Extracts,
        *,
        retries: RetryRule,
        renew_every_s: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._leases = leases
        self._blobs = blobs
        self._transcriber = transcriber
        self._classifier = classifier
        self._extractor = extractor
        self._retries = retries
        self._renew_every_s = renew_every_s
        self._clock = clock

    async def next(self) -> bool:
        """Claim a document and bring it to its end, or to its next attempt. False when there was none to claim."""
        lease = await self._leases.claim()
        if lease is None:
            return False
        try:
            await self._bring_to_an_end(lease)
        except LeaseLost:
            log.warning("lease_lost", document_id=lease.document_id, attempt=lease.attempt)
        return True

    async def _bring_to_an_end(self, lease: Lease) -> None:
        if self._retries.attempts < lease.attempt:
            # Its last attempts never came back: whoever worked on it died of it.
            await self._finish(lease, Outcome(status=ResultStatus.FAILED, reason=routing.INTERNAL_ERROR))
            return
        try:
            with INGESTION_ATTEMPT_S.time():
                outcome = await self._while_renewed(lease)
            await self._finish(lease, outcome)
        except (asyncio.CancelledError, Fatal):
            # The process stops: the next one need not wait for the end of the lease.
            await self._leases.put_back(lease, not_before=self._clock(), error="stopped", counts=False)
            raise
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001  # the edge of one document: others go on
            await self._failed(lease, error)

    async def _while_renewed(self, lease: Lease) -> Outcome:
        working = asyncio.create_task(self._read_and_route(lease))
        renewing = asyncio.create_task(self._renew(lease))
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                renewing.result()  # raises what ended it
                raise LeaseLost(lease.document_id)
            return working.result()
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)

    async def _renew(self, lease: Lease) -> None:
        """Returns when the lease is lost."""
        while True:
            await asyncio.sleep(self._renew_every_s)
            # A database that is away for a moment costs nothing yet: the lease outlasts several renewals.
            with suppress(Retryable):
                if not await self._leases.renew(lease):
                    return

    async def _read_and_route(self, lease: Lease) -> Outcome:
        async with self._blobs.fetched(lease.blob_key) as file:
            if file.sha256 != lease.content_sha256:
                raise BlobMismatch(f"the blob of document {lease.document_id} has other content")
            return await self._archived(lease, file, await self._read(lease, file))

    async def _read(self, lease: Lease, file: Fetched) -> Outcome:
        if (honest_end := routing.no_reader(lease.profile)) is not None:
            return honest_end
        try:
            transcript = await self._transcriber.transcribe(file.path)
            if not transcript.lines and transcript.e_invoice is None:
                return routing.without_text(transcript.content_type)
            classification = await self._classifier.classify(transcript)
            if classification.document_type is None:
                return routing.not_an_invoice(classification)
            return routing.route(await self._extractor.extract(transcript))
        except UnreadableFile as refused:
            return routing.unread(refused.reason)
        except ParserLimitReached as limit:
            log.warning("reader_limit_reached", document_id=lease.document_id, limit=limit.limit)
            return routing.unread(routing.READER_LIMIT)
        except ParserCrashed as crash:
            if crash.killed and not self._retries.is_spent(lease.attempt):
                raise  # from outside: the next attempt may do better
            log.warning("reader_crashed", document_id=lease.document_id, reason=str(crash))
            return routing.unread(routing.READER_CRASHED)

    async def _archived(self, lease: Lease, file: Fetched, outcome: Outcome) -> Outcome:
        """Keep a copy of a PDF: of each one from a broker, for audit, and of what is not put aside otherwise."""
        if file.content_type != PDF or (
            outcome.status is ResultStatus.SKIPPED and lease.profile is not Profile.CONTRACT_NOTE
        ):
            return outcome
        now = self._clock()
        path = await self._leases.reserve_archive_path(lease, archive_paths(lease.first, taken_on=now.date()))
        if path is None:
            raise LeaseLost(lease.document_id)
        try:
            await self._blobs.archive(file, path, metadata=archive_metadata(lease.first, processed_at=now))
        except Rejected as refused:
            # Reading the document again would end here again.
            log.error("archive_refused", document_id=lease.document_id, attempt=lease.attempt, reason=str(refused))
            return routing.not_archived(outcome)
        return outcome.archived(path)

    async def _finish(self, lease: Lease, outcome: Outcome) -> None:
        if not await self._leases.finish(lease, outcome):
            raise LeaseLost(lease.document_id)
        INGESTION_FINISHED.labels(outcome.status.value, outcome.reason or "").inc()
        log.info(
            "document_finished",
            document_id=lease.document_id,
            doc_source_id=lease.doc_source_id,
            status=outcome.status.value,
            reason=outcome.reason,
            reader=outcome.reader,
            attempt=lease.attempt,
        )

    async def _failed(self, lease: Lease, error: Exception) -> None:
        told = str(error) if isinstance(error, MailroomError) else _place_of(error)
        # A store that is away says nothing about the document: it waits as long as that takes.
        counts = not isinstance(error, Retryable) or isinstance(error, BlobMismatch)
        if counts and self._retries.is_spent(lease.attempt):
            log.error("document_failed", document_id=lease.document_id, attempt=lease.attempt, reason=told)
            await self._finish(lease, Outcome(status=ResultStatus.FAILED, reason=_reason(error)))
            return
        INGESTION_PUT_BACK.inc()
        log.warning("document_put_back", document_id=lease.document_id, attempt=lease.attempt, reason=told)
        not_before = self._clock() + self._retries.pause_after(lease.attempt)
        await self._leases.put_back(lease, not_before=not_before, error=told, counts=counts)


def _reason(error: Exception) -> str:
    match error:
        case BlobNotFound():
            return routing.BLOB_MISSING
        case BlobMismatch():
            return routing.BLOB_MISMATCH
        case ParserCrashed():
            return routing.READER_CRASHED
        case _:
            return routing.INTERNAL_ERROR


def _place_of(error: Exception) -> str:
    """What a stranger's file made a library say may quote the file: only kind and place are told."""
    place = traceback.extract_tb(error.__traceback__)[-1:]
    return " ".join([type(error).__name__, *(f"in {frame.name}, {frame.filename}:{frame.lineno}" for frame in place)])
