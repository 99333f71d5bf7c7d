"""Pages that one core reads in a second, as a ratio to the bare text of the same pages.

    PYTHONPATH=tests/support python bench/reading [--rounds 5] [FILE.pdf …]

Everything runs on one core. The baseline opens a PDF with pypdfium2 and takes the text of its pages. Beside it, in the
same rounds: the worker's readers and rules called in this process, and as the worker has them, in a confined process
forked for each document. Without files the drawn invoices and contract notes of `make eval` are read, and a price list
of 30 dense pages.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median

import orjson
import pypdfium2
from reading_quality.drawn_families import draw_families
from reading_quality.drawn_notes import draw_notes
from reading_quality.page_drawing import draw_text

from ingestion.app.read_files import open_reading_pool, read_file
from ingestion.domain.transcript import Transcript
from ingestion.extract import evidence_boxes, rule_based
from ingestion.extract.trades import note
from ingestion.readers.document import transcribe_document
from mailroom_common.events import Profile
from mailroom_common.parser.pool import ParserPool
from mailroom_common.settings import ParserSettings, load_settings

LIST_PAGES, LIST_ROWS = 30, 60


@dataclass(frozen=True)
class Batch:
    """Files that are read alike."""

    name: str
    files: Sequence[Path]
    profile: Profile = Profile.INVOICE


def take_bare_text(batch: Batch) -> int:
    pages = 0
    for file in batch.files:
        pdf = pypdfium2.PdfDocument(file)
        for page in pdf:
            text = page.get_textpage()
            text.get_text_range()
            text.close()
            page.close()
        pages += len(pdf)
        pdf.close()
    return pages


def read_in_this_process(batch: Batch) -> None:
    """What the confined process is asked for, with what goes to it and comes from it as JSON."""
    for file in batch.files:
        transcript = Transcript.from_json(
            orjson.loads(orjson.dumps(transcribe_document(BytesIO(file.read_bytes()), {})))
        )
        if not transcript.lines:
            continue
        lines = orjson.dumps(transcript.to_json())
        is_note = batch.profile is Profile.CONTRACT_NOTE
        found = (note.classify_note if is_note else rule_based.classify_document)(BytesIO(lines), {})
        if isinstance(found, dict) and found["document_type"] is not None:
            extract = evidence_boxes.extract_trades if is_note else evidence_boxes.extract_invoice
            orjson.dumps(extract(BytesIO(lines), {}))


async def read_confined(pool: ParserPool, batch: Batch) -> None:
    for file in batch.files:
        await read_file(pool, file, batch.profile)


def write_batches(folder: Path) -> list[Batch]:
    invoices = _write_files(folder, "invoice", [draw_text(invoice.text) for invoice in draw_families()])
    notes = _write_files(folder, "note", [draw_text(drawn.text) for drawn in draw_notes()])
    prices = _write_files(folder, "list", [draw_text(_write_price_list())])
    return [
        Batch("invoices of one page", invoices),
        Batch("contract notes of one page", notes, Profile.CONTRACT_NOTE),
        Batch("a price list of many pages", prices),
    ]


def _write_files(folder: Path, name: str, contents: Sequence[bytes]) -> list[Path]:
    files = [folder / f"{name}-{number}.pdf" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return files


def _write_price_list() -> str:
    rows = range(LIST_PAGES * LIST_ROWS)
    return "\n".join(
        f"A-{row:05}  Gusset plate, galvanised, {row % 90} mm  {row / 8:.2f}  EUR  per 100 pieces" for row in rows
    )


async def measure(batch: Batch, pool: ParserPool, rounds: int) -> str:
    async def call(function: Callable[[Batch], object]) -> None:
        function(batch)

    ways: tuple[Callable[[], Awaitable[None]], ...] = (
        lambda: call(take_bare_text),
        lambda: call(read_in_this_process),
        lambda: read_confined(pool, batch),
    )
    pages = take_bare_text(batch)
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, found in zip(ways, seconds, strict=True):
            began_s = time.perf_counter()
            await way()
            found.append(time.perf_counter() - began_s)
    cells = [f"{batch.name} | {pages}"]
    for found in seconds:
        ratio = median(one / bare for one, bare in zip(found, seconds[0], strict=True))
        cells.append(f"{pages / median(found):.0f} a second" + ("" if found is seconds[0] else f", {ratio:.1f} times"))
    return f"| {' | '.join(cells)} |"


async def run(files: Sequence[Path], rounds: int) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the confined processes inherit it
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("| pages | number | bare text | readers in one process | a confined process for each document |")
    print("| --- | --- | --- | --- | --- |")
    settings = load_settings(ParserSettings).model_copy(update={"parser_processes": 1})
    with tempfile.TemporaryDirectory() as folder:
        async with open_reading_pool(settings) as pool:
            batches = [Batch("the files", files)] if files else write_batches(Path(folder))
            for batch in batches:
                print(await measure(batch, pool, rounds), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python bench/reading", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(run(options.files, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
