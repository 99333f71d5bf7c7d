"""The text layer of a PDF, in the lines that an eye sees, and what of the file could not be read so.

pdfium's own order is that of the program that wrote the file: lines are made of the letters' places instead
(`page_letters`, `page_lines`), and `page_pictures` says where letters are not what a page shows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TextLine
from ingestion.readers.page_letters import Letter, read_letters
from ingestion.readers.page_lines import build_lines
from ingestion.readers.page_pictures import find_unread_content
from mailroom_common.parser import UnreadableFile

# Of a longer document: an invoice is in front, or behind its terms.
FIRST_PAGES = 40
LAST_PAGES = 20
_MAX_ATTACHMENTS = 50
_MAX_ATTACHMENT_BYTES = 8 * 1024 * 1024

# What is shown instead of a form that only some programs can open.
_PLACEHOLDER = re.compile(
    r"please wait\W{0,5}\s*if this message is not eventually replaced"
    r"|requires? (?:a newer version of )?adobe (?:acrobat )?reader",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """A file in the file. `content` is None where it is larger than is read."""

    name: str
    content: bytes | None


@dataclass(slots=True)
class PDFText:
    """`unread` says what the lines are not: reasons why the file may hold more. `pictured` are the pages that OCR may
    say more of."""

    pages: int
    lines: list[TextLine] = field(default_factory=list)
    attachments: list[EmbeddedFile] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)
    unread: set[ReviewReason] = field(default_factory=set)


def read_pdf_text(file: BinaryIO, password: str | None = None) -> PDFText:
    """
    Raises:
        UnreadableFile: `password_required` when it is locked and `password` does not open it, `unreadable` when the
            file is damaged.
    """
    try:
        document = pypdfium2.PdfDocument(file, password=password)
        try:
            read = _read_document(document)
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        needs_password = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise UnreadableFile(ReviewReason.PASSWORD_REQUIRED if needs_password else ReviewReason.UNREADABLE) from error
    if read.pages == 0:
        raise UnreadableFile(ReviewReason.UNREADABLE)
    return read


def _read_document(document: pypdfium2.PdfDocument) -> PDFText:
    read = PDFText(len(document))
    for number in _choose_pages(read.pages):
        _read_page(document, number, read)
    if read.pages > FIRST_PAGES + LAST_PAGES:
        read.unread.add(ReviewReason.PAGES_NOT_READ)
    text = " ".join(line.text for line in read.lines[:40])
    if document.get_formtype() == pdfium.FORMTYPE_XFA_FULL or is_placeholder(text):
        read.unread.add(ReviewReason.FORM_NOT_READ)
    _read_attachments(document, read)
    return read


def is_placeholder(text: str) -> bool:
    """Whether a page only says that another program would show what the form holds."""
    return _PLACEHOLDER.search(text) is not None


def _choose_pages(pages: int) -> list[int]:
    return [*range(min(pages, FIRST_PAGES)), *range(max(FIRST_PAGES, pages - LAST_PAGES), pages)]


def _read_page(document: pypdfium2.PdfDocument, number: int, read: PDFText) -> None:
    page = _open_page(document, number)
    try:
        letters = read_letters(page)
        unread = find_unread_content(page, letters)
    finally:
        page.close()
    if unread is not None:
        read.unread.add(unread)
        read.pictured.append(number)
    if unread is ReviewReason.TEXT_GARBLED:
        return  # letters that mean nothing are worse than none
    _add_lines(number, letters.groups, letters.is_cut, read)
    if unread is ReviewReason.NO_TEXT_LAYER and any(letters.hidden):
        # What another program read off the picture, or what nobody wrote: a person has it as a proposal.
        read.unread.add(ReviewReason.TEXT_NOT_VISIBLE)
        shown = len(read.lines)
        _add_lines(number, letters.hidden, letters.is_cut, read)
        read.lines[shown:] = [line.hide() for line in read.lines[shown:]]


def _add_lines(number: int, groups: Sequence[Sequence[Letter]], is_cut: bool, read: PDFText) -> None:
    for group in groups:
        built = build_lines(number, group)
        read.lines += built.lines
        if built.is_cut or is_cut:
            read.unread.add(ReviewReason.PAGES_NOT_READ)


def _open_page(document: pypdfium2.PdfDocument, number: int) -> pypdfium2.PdfPage:
    """The page with what was filled into its form, and what is pinned to it, as part of its text."""
    page = document[number]
    if pdfium.FPDFPage_GetAnnotCount(page) <= 0:
        return page
    pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    page.close()
    return document[number]


def _read_attachments(document: pypdfium2.PdfDocument, read: PDFText) -> None:
    count = document.count_attachments()
    for number in range(min(count, _MAX_ATTACHMENTS)):
        read.attachments.append(_read_attachment(document, number))
    if count > _MAX_ATTACHMENTS:
        read.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)


def _read_attachment(document: pypdfium2.PdfDocument, number: int) -> EmbeddedFile:
    try:
        attachment = document.get_attachment(number)
        content = bytes(attachment.get_data())
        return EmbeddedFile(attachment.get_name(), content if len(content) <= _MAX_ATTACHMENT_BYTES else None)
    except pypdfium2.PdfiumError:
        return EmbeddedFile("", None)  # it is there, and cannot be read: the caller says so
