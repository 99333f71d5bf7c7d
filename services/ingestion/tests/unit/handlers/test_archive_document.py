from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from ingestion_fakes import NOW, PDF, FakeBlobs, FakeLeases, FakeReading, build_attachment, build_lease

from ingestion.domain.document import AttemptPolicy, DocumentLease, DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.routing import Extraction
from ingestion.domain.transcript import Transcript
from ingestion.handlers.archive_document import PDFArchiver
from ingestion.handlers.process_document import DocumentProcessor
from ingestion.ports.blobs import FetchedFile
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import Profile, ResultStatus

DONE = DocumentOutcome(status=ResultStatus.COMPLETED)
IN_REVIEW = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.FIELDS_MISSING)
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE)
FAILED = DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.BLOB_MISSING)


@dataclass(frozen=True)
class Trade:
    account_name: str | None = "Anna Berg"
    trade_date: date | None = date(2026, 4, 1)
    ticker: str | None = None
    isin: str | None = "DE0007164600"
    direction: str | None = "buy"
    quantity: Decimal | None = Decimal("10.00")


@dataclass
class FailingBlobs(FakeBlobs):
    """Does not take a copy as often as told."""

    failures: list[Exception] = field(default_factory=list)

    async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        await super().write_archive_copy(file, path, metadata=metadata)


@pytest.fixture
def blobs(tmp_path: Path) -> FailingBlobs:
    return FailingBlobs(tmp_path, {"documents/1.pdf": PDF})


@pytest.fixture
def leases() -> FakeLeases:
    return FakeLeases()


@pytest.fixture
def archiver(leases: FakeLeases, blobs: FailingBlobs) -> PDFArchiver:
    return PDFArchiver(leases, blobs, sources={"gmail": "gmail_push"}, clock=lambda: NOW, retry_pauses_s=(0, 0))


@pytest.fixture
async def file(blobs: FailingBlobs) -> AsyncIterator[FetchedFile]:
    async with blobs.fetch_blob("documents/1.pdf") as fetched:
        yield fetched


@pytest.mark.parametrize(
    ("profile", "outcome", "is_kept"),
    [
        (Profile.INVOICE, DONE, True),
        (Profile.INVOICE, IN_REVIEW, True),
        (Profile.INVOICE, SKIPPED, False),
        (Profile.INVOICE, FAILED, False),
        (Profile.CONTRACT_NOTE, DONE, True),
        (Profile.CONTRACT_NOTE, IN_REVIEW, True),
        (Profile.CONTRACT_NOTE, SKIPPED, True),
        (Profile.CONTRACT_NOTE, FAILED, False),
    ],
)
async def test_the_profile_and_the_status_say_what_is_archived(
    archiver: PDFArchiver,
    blobs: FailingBlobs,
    file: FetchedFile,
    profile: Profile,
    outcome: DocumentOutcome,
    is_kept: bool,
) -> None:
    archived = await archiver.archive_document(build_lease(profile=profile), file, outcome)
    assert (archived.archive_path is not None, len(blobs.archived)) == (is_kept, int(is_kept))


async def test_the_first_trade_names_the_copy_of_a_note(
    archiver: PDFArchiver, blobs: FailingBlobs, file: FetchedFile
) -> None:
    trades = [Trade(), Trade(isin="US0378331005")]
    archived = await archiver.archive_document(build_lease(profile=Profile.CONTRACT_NOTE), file, DONE, trades)
    key = "Anna%20Berg-20260401-DE0007164600-buy-10"
    assert archived.archive_path is not None
    assert archived.archive_path.split("/")[3] == key
    assert blobs.archived[archived.archive_path]["trade-key"] == key


async def test_a_path_once_written_stays_whatever_trade_a_later_reading_finds(
    archiver: PDFArchiver, blobs: FailingBlobs, file: FetchedFile
) -> None:
    first = await archiver.archive_document(build_lease(profile=Profile.CONTRACT_NOTE), file, IN_REVIEW)
    again = build_lease(profile=Profile.CONTRACT_NOTE, former=first)
    assert await archiver.archive_document(again, file, DONE, [Trade()]) == DONE
    assert list(blobs.archived) == [first.archive_path]


async def test_an_upload_without_a_mail_is_named_by_its_attachment_each_time_alike(
    archiver: PDFArchiver, blobs: FailingBlobs, file: FetchedFile
) -> None:
    lease = build_lease(first_attachment=build_attachment(message_id=""))
    for _ in range(2):
        archived = await archiver.archive_document(lease, file, DONE)
    assert archived.archive_path is not None
    assert archived.archive_path.split("/")[3] == lease.first_attachment.attachment_id
    assert list(blobs.archived) == [archived.archive_path]


async def test_a_store_that_fails_for_a_moment_undoes_nothing_of_what_was_read(
    archiver: PDFArchiver, blobs: FailingBlobs, leases: FakeLeases, file: FetchedFile
) -> None:
    blobs.failures = [Unavailable("S3"), Unavailable("S3")]
    archived = await archiver.archive_document(build_lease(), file, DONE)
    assert list(blobs.archived) == [archived.archive_path] == leases.reserved


async def test_a_store_that_stays_away_leaves_the_path_for_the_next_attempt(
    archiver: PDFArchiver, blobs: FailingBlobs, leases: FakeLeases, file: FetchedFile
) -> None:
    blobs.failures = [Unavailable("S3")] * 3
    with pytest.raises(Unavailable):
        await archiver.archive_document(build_lease(profile=Profile.CONTRACT_NOTE), file, DONE)
    # Another version of the readers finds a trade in it: the copy may have come to the store all the same.
    archived = await archiver.archive_document(build_lease(profile=Profile.CONTRACT_NOTE), file, DONE, [Trade()])
    assert leases.reserved == [archived.archive_path] * 2


async def test_a_copy_that_is_never_taken_ends_in_review(
    archiver: PDFArchiver, blobs: FailingBlobs, file: FetchedFile
) -> None:
    blobs.failures = [Rejected("MetadataTooLarge")]
    refused = await archiver.archive_document(build_lease(), file, DONE)
    assert (refused.reason, refused.archive_path, blobs.archived) == (ReviewReason.ARCHIVE_REFUSED, None, {})


class Killed(BaseException):
    """What a SIGKILL is to the process: nothing after it runs."""


STAGES = ("fetch", "read", "reserve", "before the copy", "after the copy", "before the end", "after the end")
FIELDS = {
    **Invoice().to_json(),
    "supplier_name": "Shop",
    "invoice_number": "1",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "1",
}


@dataclass
class DyingSite:
    """The ports of a worker, which dies once, at one stage."""

    leases: FakeLeases
    blobs: FakeBlobs
    stage: str

    def reach(self, stage: str) -> None:
        if stage == self.stage:
            self.stage = "none: it died already"
            raise Killed

    def open_worker(self) -> DocumentProcessor:
        site, leases, blobs = self, self.leases, self.blobs

        class Leases(FakeLeases):
            async def claim_document(self, lanes: object = ()) -> DocumentLease | None:
                # A document without an end is claimed again once the lease of its dead worker has ended.
                return None if leases.finished else build_lease()

            async def reserve_archive_path(self, lease: DocumentLease, paths: Iterable[str]) -> str | None:
                reserved = await leases.reserve_archive_path(lease, paths)
                site.reach("reserve")
                return reserved

            async def finish_document(
                self, lease: DocumentLease, outcome: DocumentOutcome, *, failed: DocumentOutcome | None = None
            ) -> DocumentOutcome | None:
                site.reach("before the end")
                finished = await leases.finish_document(lease, outcome)
                site.reach("after the end")
                return finished

        class Blobs(FakeBlobs):
            @asynccontextmanager
            async def fetch_blob(self, key: str) -> AsyncIterator[FetchedFile]:
                site.reach("fetch")
                async with blobs.fetch_blob(key) as fetched:
                    yield fetched

            async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
                site.reach("before the copy")
                await blobs.write_archive_copy(file, path, metadata=metadata)
                site.reach("after the copy")

        class Reading(FakeReading):
            async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
                site.reach("read")
                return await super().transcribe_file(file, password=password)

        reading = Reading(
            Transcript.from_rows(["Invoice 1"]), extraction=Extraction("invoice", FIELDS, 0.9, "reader/1")
        )
        ports = Leases(), Blobs(blobs.folder)
        return DocumentProcessor(
            *ports,
            reading.open_readers,
            ExtractionRouter(),
            PDFArchiver(*ports, sources={}, clock=lambda: NOW),
            attempts=AttemptPolicy(3, timedelta(seconds=5), timedelta(seconds=60)),
            renew_every_s=10,
            clock=lambda: NOW,
        )


@pytest.mark.parametrize("stage", STAGES)
async def test_a_worker_killed_at_any_stage_leaves_one_copy_and_one_end(
    leases: FakeLeases, blobs: FailingBlobs, stage: str
) -> None:
    site = DyingSite(leases, blobs, stage)
    with pytest.raises(Killed):
        await site.open_worker().process_next()
    await site.open_worker().process_next()
    ((_, outcome),) = leases.finished
    assert list(blobs.archived) == [outcome.archive_path]
    assert outcome.status is ResultStatus.COMPLETED
