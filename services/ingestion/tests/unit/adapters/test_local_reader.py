"""The readers and rules where they really run: in the confined parser process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from generated_invoices import CII, text_page

from ingestion.adapters.local_reader import READER_MODULES, LocalReader
from ingestion.domain.transcript import Transcript
from mailroom_common.parser import JSON, ParserCrashed, UnreadableFile
from mailroom_common.parser.pool import ParserPool


@pytest.fixture
async def reader() -> AsyncIterator[LocalReader]:
    async with ParserPool(preload=READER_MODULES) as pool, pool.open_document() as document:
        yield LocalReader(document)


async def test_an_e_invoice_is_transcribed_classified_and_extracted(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(CII(number="RE-8").pdf())
    transcript = await reader.transcribe_file(file)
    assert transcript.lines
    assert (await reader.classify_transcript(transcript)).document_type == "invoice"
    extraction = await reader.extract_fields(transcript)
    assert (extraction.fields["invoice_number"], extraction.reader, extraction.doubts) == ("RE-8", "e-invoice/1", ())


async def test_a_page_that_is_no_invoice_has_no_type(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "minutes.pdf"
    file.write_bytes(text_page("Minutes of the meeting"))
    classification = await reader.classify_transcript(await reader.transcribe_file(file))
    assert classification.document_type is None


async def test_a_readers_reason_comes_through(reader: LocalReader, tmp_path: Path) -> None:
    file = tmp_path / "text.pdf"
    file.write_bytes(b"only called .pdf")
    with pytest.raises(UnreadableFile) as refused:
        await reader.transcribe_file(file)
    assert refused.value.reason == "not_a_document"


class TakenOverParser:
    """A process that answers what its file wants."""

    def __init__(self, answer: JSON) -> None:
        self._answer = answer

    async def run_reader(self, function: str, source: Path | bytes) -> JSON:
        return self._answer


@pytest.mark.parametrize("answer", [None, 5, [], {}, {"lines": 5}, {"lines": [[1, 2]]}, {"lines": [[1, 2, 3, ["x"]]]}])
async def test_an_answer_of_another_shape_is_a_crash_of_the_reader(answer: JSON) -> None:
    reader = LocalReader(TakenOverParser(answer))
    with pytest.raises(ParserCrashed, match="an answer of another shape"):
        await reader.transcribe_file(Path("any"))
    for read in (reader.classify_transcript, reader.extract_fields):
        with pytest.raises(ParserCrashed, match="an answer of another shape"):
            await read(Transcript("application/pdf", 1))
