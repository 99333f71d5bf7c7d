"""`python -m ingestion read FILE…`: reads files as the worker does, without any stack, one line of JSON for each.

The files are opened in confined parser processes, so that a hostile one cannot hurt who reads it.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from ingestion.adapters.local_reader import READER_MODULES, open_local_readers
from ingestion.adapters.model_budget import RunModelBudget
from ingestion.adapters.ocr_reader import OCRReader
from ingestion.app.language_model import open_assistant
from ingestion.app.ocr import build_ocr_reader, open_ocr_pool
from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.handlers.assist_reading import ReadingAssistant
from ingestion.handlers.read_document import ReadingPurpose
from ingestion.handlers.read_pictures import read_document_with_pictures
from ingestion.ports.blobs import FetchedFile
from ingestion.settings import LanguageModelSettings, OCRSettings
from mailroom_common.errors import SettingsError
from mailroom_common.events import Profile
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserLimits, UnreadableFile
from mailroom_common.parser.pool import ParserPool
from mailroom_common.secret_files import find_secret_paths
from mailroom_common.settings import ParserSettings, load_settings

EXIT_FAILED = 1
EXIT_SETTINGS = 78


def main(arguments: Sequence[str]) -> int:
    """
    Returns:
        0 when each file was read, whatever was found in it; 1 when one could not be opened; 78 when the machine does
        not confine the parser process.
    """
    options = _parse_arguments(arguments)
    try:
        return asyncio.run(
            _read_and_print(options.files, Profile(options.profile), with_text=options.text, tenant_id=options.model)
        )
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_SETTINGS


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ingestion read", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--profile", choices=[profile.value for profile in Profile], default=Profile.INVOICE.value)
    parser.add_argument("--model", metavar="TENANT", help="ask the language model as for a document of this tenant")
    parser.add_argument("--text", action="store_true", help="with the lines of text that were read")
    return parser.parse_args(arguments)


async def _read_and_print(files: Sequence[Path], profile: Profile, *, with_text: bool, tenant_id: str | None) -> int:
    failed = False
    async with (
        open_reading_pool(load_settings(ParserSettings)) as pool,
        open_ocr_reader(load_settings(OCRSettings), load_settings(ParserSettings)) as ocr,
        open_tenant_assistant(pool, tenant_id) as assistant,
    ):
        for file in files:
            reading = await read_file(pool, file, profile, with_text=with_text, ocr=ocr, assistant=assistant)
            failed = failed or "error" in reading
            sys.stdout.write(f"{orjson.dumps(reading).decode()}\n")
            sys.stdout.flush()
    return EXIT_FAILED if failed else 0


@dataclass(frozen=True, slots=True)
class TenantAssistant:
    """The language model, as it is asked for a tenant's documents."""

    assistant: ReadingAssistant
    tenant_id: str

    async def assist_outcome(
        self, file: Path, profile: Profile, outcome: DocumentOutcome, transcript: Transcript
    ) -> DocumentOutcome:
        document = _FileIdentity(str(file), self.tenant_id, profile)
        fetched = FetchedFile(file, "", transcript.content_type)
        return await self.assistant.assist_outcome(document, fetched, outcome, transcript)


@dataclass(frozen=True, slots=True)
class _FileIdentity:
    document_id: str
    tenant_id: str
    profile: Profile


@asynccontextmanager
async def open_tenant_assistant(pool: ParserPool, tenant_id: str | None) -> AsyncIterator[TenantAssistant | None]:
    """None where nobody asked for the language model.

    Raises:
        SettingsError: the settings name no documents that it reads.
    """
    if tenant_id is None:
        yield None
        return
    async with open_assistant(
        load_settings(LanguageModelSettings), RunModelBudget(), pool, clock=lambda: datetime.now(UTC)
    ) as assistant:
        if assistant is None:
            raise SettingsError("MAILROOM_LLM_USE is empty: no document is read by a language model")
        yield TenantAssistant(assistant, tenant_id)


@asynccontextmanager
async def open_reading_pool(settings: ParserSettings) -> AsyncIterator[ParserPool]:
    """
    Raises:
        ParserUnconfined: this machine does not confine the parser process, and `MAILROOM_PARSER_UNCONFINED` is off.
    """
    pool = ParserPool(
        size=settings.parser_processes,
        limits=ParserLimits(
            memory_bytes=settings.parser_memory_bytes, cpu_s=settings.parser_cpu_s, wall_s=settings.parser_wall_s
        ),
        preload=READER_MODULES,
        private_paths=find_secret_paths(),
        allow_unconfined=settings.parser_unconfined,
    )
    async with pool:
        await pool.check_confinement()
        yield pool


@asynccontextmanager
async def open_ocr_reader(settings: OCRSettings, parser: ParserSettings) -> AsyncIterator[OCRReader | None]:
    """None where OCR is switched off."""
    if not settings.ocr_processes:
        yield None
        return
    open_pool = partial(
        open_ocr_pool, settings, private_paths=find_secret_paths(), allow_unconfined=parser.parser_unconfined
    )
    async with build_ocr_reader(settings, open_pool) as ocr:
        yield ocr


async def read_file(
    pool: ParserPool,
    file: Path,
    profile: Profile,
    *,
    with_text: bool = False,
    ocr: OCRReader | None = None,
    assistant: TenantAssistant | None = None,
) -> dict[str, Any]:
    """What the worker would make of a file, or `error`: why the file could not be opened. `ocr` or `assistant` None: it
    is off."""
    if (error := _find_error(file)) is not None:
        return {"file": _show_path(file), "error": error}
    begun = time.perf_counter()
    outcome, transcript = await _read_confined(pool, ocr, file, profile)
    if assistant is not None and transcript is not None and outcome.reason is not ReviewReason.OCR_UNCERTAIN:
        outcome = await assistant.assist_outcome(file, profile, outcome, transcript)
    return _describe(file, outcome, transcript, time.perf_counter() - begun, with_text=with_text)


def _show_path(file: Path) -> str:
    """Bytes of a name that are no UTF-8, which no JSON holds, are escaped."""
    return str(file).encode("utf-8", "backslashreplace").decode()


def _find_error(file: Path) -> str | None:
    if not file.exists():
        return "there is no such file"
    if not file.is_file():
        return "it is no file: name the files in it"
    return None if os.access(file, os.R_OK) else "you may not read it"


async def _read_confined(
    pool: ParserPool, ocr: OCRReader | None, file: Path, profile: Profile
) -> tuple[DocumentOutcome, Transcript | None]:
    """The outcomes are those of `DocumentProcessor`, where a limit or a crash is one attempt and no more."""
    if (without_reader := routing.route_without_reader(profile)) is not None:
        return without_reader, None
    try:
        reading = await read_document_with_pictures(
            partial(open_local_readers, pool, profile), ocr, file, ReadingPurpose(profile)
        )
    except UnreadableFile as error:
        return routing.route_unreadable(error.reason), None
    except ParserLimitReached:
        return routing.route_unreadable(ReviewReason.READER_LIMIT), None
    except ParserCrashed:
        return routing.route_unreadable(ReviewReason.READER_CRASHED), None
    return reading.outcome, reading.transcript


def _describe(
    file: Path, outcome: DocumentOutcome, transcript: Transcript | None, seconds: float, *, with_text: bool
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "file": _show_path(file),
        "status": outcome.status.value,
        "reason": outcome.reason,
        "document_type": outcome.document_type,
        "confidence": outcome.confidence,
        "reader": outcome.reader,
        "extraction": None if outcome.extraction is None else dict(outcome.extraction),
        "pages_not_read": [page + 1 for page in outcome.pages_not_read],
        "seconds": round(seconds, 3),
    }
    if transcript is not None:
        described |= {"content_type": transcript.content_type, "pages": transcript.pages}
        described |= {"lines": _list_lines(transcript)} if with_text else {}
    return described


def _list_lines(transcript: Transcript) -> list[Mapping[str, Any]]:
    """The lines of the pages, two blanks between their cells."""
    return [{"page": line.page + 1, "text": "  ".join(cell.text for cell in line.cells)} for line in transcript.lines]
