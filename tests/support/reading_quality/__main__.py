"""`make eval`: reads samples with the worker's readers, prints what was right, and writes docs/quality.md.

    python -m reading_quality [--samples FOLDER] [--write PAGE] [--details] [--family NAME]... [--for-rules]

E-invoices are read twice: as they are, and their page without its XML. So are contract notes: for their trades, and as
what they are to an invoice mailbox: nothing.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ingestion.adapters.local_reader import open_local_readers
from ingestion.adapters.ocr_reader import OCRReader
from ingestion.app.read_files import open_ocr_reader, open_reading_pool, read_file
from ingestion.domain.transcript import Transcript
from ingestion.handlers.read_document import read_transcript
from ingestion.settings import OCRSettings
from mailroom_common.events import Profile
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile
from mailroom_common.parser.pool import ParserPool
from mailroom_common.settings import ParserSettings, load_settings
from reading_quality.drawn_families import DrawnInvoice, draw_families
from reading_quality.drawn_notes import DrawnNote, draw_notes
from reading_quality.drawn_notices import DrawnNotice, draw_notices
from reading_quality.drawn_papers import INVOICES, OTHERS, DrawnPaper
from reading_quality.drawn_receipts import FOR_RULES, REPORTED, DrawnReceipt, draw_receipts
from reading_quality.judging import Verdict, choose_values_of_page, judge_reading
from reading_quality.page_drawing import draw_text, read_text_file
from reading_quality.report import CountedTrades, Judged, Passed, build_report
from reading_quality.samples import NoSamples, Sample, find_samples
from reading_quality.trade_judging import LEFT_OUT_BROKERS, ODD_TRUTHS, has_same_trades, judge_single_trade, list_trades

_CHECKOUT = Path(__file__).parents[3]
SAMPLES = Path(os.environ.get("MAILROOM_SAMPLES", _CHECKOUT.parent / "shared" / "samples"))
_KINDS = {"invoice": "invoices", "scan": "scans"}


@dataclass(slots=True)
class Evaluation:
    """What was found so far."""

    judged: list[Judged]
    passed: list[Passed]
    counted: list[CountedTrades]


def main(arguments: Sequence[str]) -> int:
    options = _parse_arguments(arguments)
    try:
        samples = find_samples(options.samples)
    except NoSamples as error:
        sys.stderr.write(f"{error}\n")
        return 2
    series = FOR_RULES if options.for_rules else REPORTED
    evaluation = asyncio.run(_read_samples(samples, options.family, series, details=options.details))
    page = build_report(evaluation.judged, evaluation.passed, evaluation.counted)
    sys.stdout.write(page)
    if options.write is not None and not options.family and not options.for_rules:
        options.write.write_text(page)
    return 0


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make eval", description=__doc__)
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="a folder with an index.json")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--for-rules", action="store_true", help="the receipts that rules are made on")
    parser.add_argument("--details", action="store_true", help="each field that is not right, to stderr")
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        help="only families whose name begins so (`consorsbank`, `fr-1`), which takes seconds; nothing is written",
    )
    return parser.parse_args(arguments)


async def _read_samples(
    samples: Sequence[Sample], families: Sequence[str], series: str, *, details: bool
) -> Evaluation:
    def is_asked(family: str) -> bool:
        return not families or family.startswith(tuple(families))

    evaluation = Evaluation([], [], [])
    with tempfile.TemporaryDirectory() as folder:
        parser = load_settings(ParserSettings)
        async with open_reading_pool(parser) as pool, open_ocr_reader(load_settings(OCRSettings), parser) as ocr:
            for sample in (sample for sample in samples if is_asked(sample.family)):
                await _read_sample(pool, ocr, _draw_sample(sample, Path(folder)), evaluation, details)
            for number, receipt in enumerate(draw_receipts(series) if is_asked("receipt") else ()):
                await _read_receipt(pool, ocr, receipt, Path(folder) / f"receipt-{number:02}.jpg", evaluation, details)
            for number, invoice in enumerate(draw_families()):
                if is_asked(invoice.family):
                    file = Path(folder) / f"{invoice.family}-{number}.pdf"
                    await _read_drawn(pool, invoice, file, evaluation, details)
            for paper in (paper for paper in (*INVOICES, *OTHERS) if is_asked(f"paper-{paper.name}")):
                await _read_paper(pool, paper, Path(folder) / f"paper-{paper.name}.pdf", evaluation, details)
            for note in (note for note in draw_notes() if is_asked(note.family)):
                await _read_drawn_note(pool, note, Path(folder) / f"{note.family}.pdf", evaluation, details)
            for notice in (notice for notice in draw_notices() if is_asked(notice.family)):
                evaluation.passed.append(await _read_notice(pool, notice, Path(folder) / f"{notice.family}.pdf"))
    return evaluation


def _draw_sample(sample: Sample, folder: Path) -> Sample:
    if not sample.is_text:
        return sample
    drawn = folder / f"{sample.path.parent.name}-{sample.path.stem}.pdf"
    drawn.write_bytes(draw_text(read_text_file(sample.path)))
    return replace(sample, path=drawn)


async def _read_sample(
    pool: ParserPool, ocr: OCRReader | None, sample: Sample, evaluation: Evaluation, details: bool
) -> None:
    reading = await read_file(pool, sample.path, Profile.INVOICE, ocr=ocr)
    expected = "skip" if sample.is_contract_note else str(sample.expected.get("outcome", "process"))
    if expected in ("process", "skip"):
        part = "notes of brokers and banks, to an invoice mailbox" if sample.is_contract_note else _KINDS[sample.kind]
        evaluation.passed.append(
            Passed(part, sample.family, sample.path.name, expected, reading["status"], reading["reason"])
        )
    if sample.is_contract_note:
        await _read_note(pool, sample, evaluation, details)
    if sample.is_contract_note or expected == "skip":
        return
    if reading["reader"] == "e-invoice/6":
        judged = _judge(sample, "e-invoice XML", sample.truth, reading)
        _add(evaluation, judged, reading, details)
        reading = await _read_page_alone(pool, sample.path)
    part = "scans" if sample.kind == "scan" else "invoice pages"
    expected_values = sample.truth if sample.kind == "scan" else choose_values_of_page(sample.truth)
    _add(evaluation, _judge(sample, part, expected_values, reading), reading, details, expected_values)


async def _read_note(pool: ParserPool, sample: Sample, evaluation: Evaluation, details: bool) -> None:
    """For its trades. Of several in a document it is only said whether all of them were found."""
    expected = str(sample.expected.get("outcome"))
    if expected not in ("process", "skip"):
        return
    reading = await read_file(pool, sample.path, Profile.CONTRACT_NOTE)
    is_left_out = sample.family in LEFT_OUT_BROKERS
    split = "left-out families" if is_left_out else "families that rules were made on"
    evaluation.passed.append(
        Passed(
            f"notes of brokers and banks, to a mailbox of trades: {split}",
            sample.family,
            sample.path.name,
            expected,
            reading["status"],
            reading["reason"],
            is_odd=f"{sample.family}-{sample.path.stem.removeprefix(f'{sample.family}-')}" in ODD_TRUTHS,
        )
    )
    trades = sample.truth["trades"]
    if len(trades) == 1:
        judgement = judge_single_trade(sample.truth, reading)
        part = f"notes with one trade, {split}"
        judged = Judged(part, sample.family, sample.path.name, judgement, reading.get("pages", 1), reading["seconds"])
        _add(evaluation, judged, _flatten(reading), details and not is_left_out, trades[0])
    else:
        is_right = has_same_trades(trades, list_trades(reading))
        evaluation.counted.append(
            CountedTrades(split, sample.path.name, len(trades), is_right, reading["status"] == "completed")
        )


def _flatten(reading: dict[str, Any]) -> dict[str, Any]:
    return {**reading, "extraction": next(iter(list_trades(reading)), {})}


async def _read_drawn(
    pool: ParserPool, invoice: DrawnInvoice, file: Path, evaluation: Evaluation, details: bool
) -> None:
    file.write_bytes(draw_text(invoice.text))  # noqa: ASYNC240  # nothing else runs meanwhile
    reading = await read_file(pool, file, Profile.INVOICE)
    part = "drawn invoices, left-out families" if invoice.is_left_out else "drawn invoices that rules were made on"
    judged = _judge(Sample(file, "invoice", invoice.family, invoice.truth, {}), part, invoice.truth, reading)
    evaluation.passed.append(Passed(part, invoice.family, file.name, "process", reading["status"], reading["reason"]))
    # Of what is left out only the sums are shown.
    _add(evaluation, judged, reading, details and not invoice.is_left_out, invoice.truth)


async def _read_drawn_note(
    pool: ParserPool, note: DrawnNote, file: Path, evaluation: Evaluation, details: bool
) -> None:
    file.write_bytes(draw_text(note.text))  # noqa: ASYNC240  # nothing else runs meanwhile
    reading = await read_file(pool, file, Profile.CONTRACT_NOTE)
    split = "left-out families" if note.is_left_out else "families that rules were made on"
    part = f"drawn notes, {split}"
    evaluation.passed.append(Passed(part, note.family, file.name, "process", reading["status"], reading["reason"]))
    trades = note.truth["trades"]
    if len(trades) == 1:
        judgement = judge_single_trade(note.truth, reading)
        judged = Judged(part, note.family, file.name, judgement, reading.get("pages", 1), reading["seconds"])
        _add(evaluation, judged, _flatten(reading), details and not note.is_left_out, trades[0])
    else:
        is_right = has_same_trades(trades, list_trades(reading))
        evaluation.counted.append(
            CountedTrades(part, file.name, len(trades), is_right, reading["status"] == "completed")
        )


async def _read_notice(pool: ParserPool, notice: DrawnNotice, file: Path) -> Passed:
    """Only for whether it is skipped."""
    file.write_bytes(draw_text(notice.text))  # noqa: ASYNC240  # nothing else runs meanwhile
    reading = await read_file(pool, file, Profile.CONTRACT_NOTE)
    split = "left-out words" if notice.is_left_out else "words that rules were made on"
    kind = "notes that speak of income" if notice.has_trade else "papers without a trade"
    expected = "process" if notice.has_trade else "skip"
    return Passed(f"drawn {kind}: {split}", notice.family, file.name, expected, reading["status"], reading["reason"])


async def _read_paper(pool: ParserPool, paper: DrawnPaper, file: Path, evaluation: Evaluation, details: bool) -> None:
    """For its fields, if it is an invoice, and for whether it is skipped, if it is none."""
    file.write_bytes(draw_text(paper.text))  # noqa: ASYNC240  # nothing else runs meanwhile
    reading = await read_file(pool, file, Profile.INVOICE)
    is_invoice = paper.truth is not None
    part = "papers of invoicing programs" if is_invoice else "reminders and others that are no invoice"
    expected = "process" if is_invoice else "skip"
    evaluation.passed.append(Passed(part, paper.name, file.name, expected, reading["status"], reading["reason"]))
    if paper.truth is not None:
        judged = _judge(Sample(file, "invoice", paper.name, paper.truth, {}), part, paper.truth, reading)
        _add(evaluation, judged, reading, details, paper.truth)


async def _read_receipt(
    pool: ParserPool, ocr: OCRReader | None, receipt: DrawnReceipt, file: Path, evaluation: Evaluation, details: bool
) -> None:
    file.write_bytes(receipt.picture)  # noqa: ASYNC240  # nothing else runs meanwhile
    reading = await read_file(pool, file, Profile.INVOICE, ocr=ocr)
    part = "receipts, askew and noisy"
    judged = _judge(Sample(file, "scan", receipt.family, receipt.truth, {}), part, receipt.truth, reading)
    evaluation.passed.append(Passed(part, receipt.family, file.name, "process", reading["status"], reading["reason"]))
    _add(evaluation, judged, reading, details, receipt.truth)


def _judge(sample: Sample, part: str, expected: Any, reading: dict[str, Any]) -> Judged:
    judgement = judge_reading(expected, reading, document_type=sample.truth.get("document_type"))
    return Judged(part, sample.family, sample.path.name, judgement, reading.get("pages", 1), reading["seconds"])


def _add(evaluation: Evaluation, judged: Judged, reading: dict[str, Any], details: bool, expected: Any = None) -> None:
    evaluation.judged.append(judged)
    if not details or not expected:
        return
    extraction = reading["extraction"] or {}
    for field, verdict in judged.judgement.verdicts.items():
        if verdict is not Verdict.RIGHT:
            values = json.dumps([expected[field], extraction.get(field)], ensure_ascii=False)[:200]
            sys.stderr.write(f"{judged.name}\t{verdict}\t{field}\t{values}\t{reading['reason']}\n")


async def _read_page_alone(pool: ParserPool, file: Path) -> dict[str, Any]:
    """As a reading of the file would be if it carried no XML."""
    begun = time.perf_counter()
    try:
        async with open_local_readers(pool) as readers:
            transcript: Transcript = await readers.transcriber.transcribe_file(file)
            outcome = await read_transcript(readers, replace(transcript, e_invoice=None, unread=()))
    except (UnreadableFile, ParserLimitReached, ParserCrashed) as error:
        return {"status": "needs_review", "reason": str(error), "extraction": None, "seconds": 0.0}
    return {
        "status": outcome.status.value,
        "reason": outcome.reason,
        "document_type": outcome.document_type,
        "confidence": outcome.confidence,
        "extraction": outcome.extraction,
        "pages": transcript.pages,
        "seconds": time.perf_counter() - begun,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
