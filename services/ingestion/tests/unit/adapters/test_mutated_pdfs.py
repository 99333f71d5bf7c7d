"""PDFs that were damaged at random, where they are really read: in the confined parser process."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio
from mutated_pdfs import build_originals, change_digit, mutate_pdf

from ingestion.adapters.local_reader import READER_MODULES, READER_REASONS, LocalNoteReader, LocalReader
from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.handlers.read_document import ReadingPurpose
from ingestion.handlers.read_pictures import read_document_with_pictures
from ingestion.ports.readers import DocumentReaders
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.parser import UnreadableFile
from mailroom_common.parser.pool import DocumentParser, ParserPool

MUTANTS, E_INVOICES = 180, 60
IN_ONE_LOOP = pytest.mark.asyncio(loop_scope="module")
# Both the XML and the page say these: chance does not change them in both.
SAID_TWICE = ("supplier_name", "invoice_number", "issue_date", "currency", "total_gross", "total_net", "iban", "vat_id")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parser() -> AsyncIterator[DocumentParser]:
    """One process for all of them: what a damaged file leaves behind in it would show at the next."""
    pool = ParserPool(preload=READER_MODULES, unreadable_reasons=READER_REASONS)
    async with pool, pool.open_document() as document:
        yield document


@asynccontextmanager
async def open_readers(parser: DocumentParser, profile: Profile) -> AsyncIterator[DocumentReaders]:
    reader, notes = LocalReader(parser), LocalNoteReader(parser)
    chosen = notes if profile is Profile.CONTRACT_NOTE else reader
    yield DocumentReaders(transcriber=reader, classifier=chosen, extractor=chosen)


def write(folder: Path, content: bytes) -> Path:
    file = folder / "document.pdf"
    file.write_bytes(content)
    return file


async def read(parser: DocumentParser, file: Path, profile: Profile = Profile.INVOICE) -> DocumentOutcome:
    try:
        reading = await read_document_with_pictures(
            partial(open_readers, parser, profile), None, file, ReadingPurpose(profile)
        )
    except UnreadableFile as error:
        return routing.route_unreadable(error.reason)
    return reading.outcome


@IN_ONE_LOOP
async def test_each_damaged_pdf_ends_with_a_reason(parser: DocumentParser, tmp_path: Path) -> None:
    """A limit that is reached, a process that ends, an answer that none of ours gives: each is raised, and fails."""
    originals, ends = build_originals(), Counter[ResultStatus]()
    for number in range(MUTANTS):
        random = Random(number)
        kind = random.choice([*originals])
        profile = Profile.CONTRACT_NOTE if "note" in kind else Profile.INVOICE
        outcome = await read(parser, write(tmp_path, mutate_pdf(originals[kind], random)), profile)
        assert (outcome.reason is None) is (outcome.status is ResultStatus.COMPLETED), number
        ends[outcome.status] += 1
    # Neither so slightly that nothing happens, nor so much that nothing is read.
    assert min(ends[ResultStatus.COMPLETED], ends[ResultStatus.NEEDS_REVIEW]) > MUTANTS / 12


@IN_ONE_LOOP
async def test_an_e_invoice_completes_with_no_other_value_than_its_page_and_xml_agree_on(
    parser: DocumentParser, tmp_path: Path
) -> None:
    original = build_originals()["e-invoice, unpacked"]
    undamaged = (await read(parser, write(tmp_path, original))).extraction or {}
    ends = Counter[str | None]()
    for number in range(E_INVOICES):
        outcome = await read(parser, write(tmp_path, change_digit(original, Random(number))))
        ends[outcome.reason] += 1
        if outcome.status is ResultStatus.COMPLETED:
            fields = outcome.extraction or {}
            assert [fields[name] for name in SAID_TWICE] == [undamaged[name] for name in SAID_TWICE], number
    assert ends[ReviewReason.PAGE_AND_XML_DISAGREE] > E_INVOICES / 12
