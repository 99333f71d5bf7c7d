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

from ingestion.domain.page_marks import NO_MARKS, PageMarks
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TextLine
from ingestion.readers.page_letters import Letter, read_letters
from ingestion.readers.page_lines import build_lines
from ingestion.readers.page_pictures import find_unread_content
from ingestion.readers.pinned_marks import read_pinned_marks
from mailroom_common.parser import UnreadableFile

# Of a longer document: an invoice is in front, or behind its terms.
FIRST_PAGES = 40
LAST_PAGES = 20
# Those between are looked over: whether another invoice begins there.
_MAX_LOOKED_OVER = 2000
_LOOKED_OVER = 600  # letters of each
_MAX_ATTACHMENTS = 50
_MAX_ANNOTATIONS = 200  # of a page, that are looked at for attached files
_SMALLEST = 4.0  # pixels
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
    say more of, `marks` what somebody did to the pages. `looked_over` has the letters at the beginning of pages that
    were not read, by page: none of a picture, and of a page behind as many as are looked over."""

    pages: int
    lines: list[TextLine] = field(default_factory=list)
    attachments: list[EmbeddedFile] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)
    unread: set[ReviewReason] = field(default_factory=set)
    marks: PageMarks = NO_MARKS
    looked_over: dict[int, str] = field(default_factory=dict)


def read_pdf_text(file: BinaryIO, password: str | None = None, *, max_pages: int | None = None) -> PDFText:
    """Of more pages than `max_pages` (by default: than a long document has) the first and the last ones.

    Raises:
        UnreadableFile: `password_required` when it is locked, `password_wrong` when `password` does not open it,
            `unreadable` when the file is damaged.
    """
    try:
        document = pypdfium2.PdfDocument(file, password=password)
        try:
            read = _read_document(document, FIRST_PAGES + LAST_PAGES if max_pages is None else max_pages)
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        raise UnreadableFile(_find_refusal(error, password)) from error
    if read.pages == 0:
        raise UnreadableFile(ReviewReason.UNREADABLE)
    return read


def _find_refusal(error: pypdfium2.PdfiumError, password: str | None) -> ReviewReason:
    if error.err_code not in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
        return ReviewReason.UNREADABLE
    return ReviewReason.PASSWORD_REQUIRED if password is None else ReviewReason.PASSWORD_WRONG


def _read_document(document: pypdfium2.PdfDocument, max_pages: int) -> PDFText:
    read = PDFText(len(document))
    chosen = _choose_pages(read.pages, max_pages)
    for number in chosen:
        _read_page(document, number, read)
    left = sorted({*range(read.pages)} - {*chosen})
    read.looked_over = {number: _look_over(document[number]) for number in left[:_MAX_LOOKED_OVER]}
    read.looked_over |= dict.fromkeys(left[_MAX_LOOKED_OVER : _MAX_LOOKED_OVER + 1], "")
    # Of a file that was cut, or written over, pdfium puts together what it finds: what is gone it does not miss.
    if read.pages > max_pages or not pdfium.FPDF_DocumentHasValidCrossReferenceTable(document):
        read.unread.add(ReviewReason.PAGES_NOT_READ)
    text = " ".join(line.text for line in read.lines[:40])
    if document.get_formtype() == pdfium.FORMTYPE_XFA_FULL or is_placeholder(text):
        read.unread.add(ReviewReason.FORM_NOT_READ)
    _read_attachments(document, read)
    return read


def _look_over(page: pypdfium2.PdfPage) -> str:
    """Its first letters in the file's own order, whether an eye sees them or not."""
    text_page = page.get_textpage()
    try:
        text: str = text_page.get_text_range(0, min(_LOOKED_OVER, text_page.count_chars()), errors="replace")
        return text
    finally:
        text_page.close()
        page.close()


def is_placeholder(text: str) -> bool:
    """Whether a page only says that another program would show what the form holds."""
    return _PLACEHOLDER.search(text) is not None


def _choose_pages(pages: int, limit: int) -> list[int]:
    last = limit * LAST_PAGES // (FIRST_PAGES + LAST_PAGES)
    first = limit - last
    return [*range(min(pages, first)), *range(max(first, pages - last), pages)]


def _read_page(document: pypdfium2.PdfDocument, number: int, read: PDFText) -> None:
    page = _open_page(document, number, read)
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
    read.marks += PageMarks(letters.struck_out, letters.stamps, letters.is_crossed_out)
    shown = len(read.lines)
    _add_lines(number, letters.groups, letters.is_cut, read)
    if not all(line.is_visible for line in read.lines[shown:]):
        # A word that is seen has a letter that may be seen or not: a person reads it, or OCR.
        read.unread.add(ReviewReason.TEXT_NOT_VISIBLE)
        if number not in read.pictured:
            read.pictured.append(number)
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


def _open_page(document: pypdfium2.PdfDocument, number: int, read: PDFText) -> pypdfium2.PdfPage:
    """The page with what was filled into its form, and what is pinned to it, as part of its text."""
    page = document[number]
    if pdfium.FPDFPage_GetAnnotCount(page) <= 0:
        return page
    _read_pinned_files(document, page, read)  # before they become a part of the page, too
    read.marks += read_pinned_marks(page)
    page.render(scale=_SMALLEST / max(*page.get_size(), 1.0))  # gives those a shape that only say where they are
    pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    page.close()
    return document[number]


def _read_pinned_files(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, read: PDFText) -> None:
    """Files that are attached to a place on a page, and not to the document."""
    count = pdfium.FPDFPage_GetAnnotCount(page)
    for number in range(min(count, _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            pinned = pdfium.FPDFAnnot_GetFileAttachment(annotation)
            file = _read_attachment(pypdfium2.PdfAttachment(pinned, document)) if pinned else EmbeddedFile("", None)
            _add_attachment(file, read)
        pdfium.FPDFPage_CloseAnnot(annotation)
    if count > _MAX_ANNOTATIONS:
        read.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)


def _read_attachments(document: pypdfium2.PdfDocument, read: PDFText) -> None:
    count = document.count_attachments()
    for number in range(min(count, _MAX_ATTACHMENTS)):
        _add_attachment(_find_attachment(document, number), read)
    if count > _MAX_ATTACHMENTS:
        read.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)


def _add_attachment(file: EmbeddedFile, read: PDFText) -> None:
    """Once: a file may be attached to the document and to a place on a page."""
    if len(read.attachments) >= _MAX_ATTACHMENTS:
        read.unread.add(ReviewReason.EMBEDDED_FILES_NOT_READ)
    elif file not in read.attachments:
        read.attachments.append(file)


def _find_attachment(document: pypdfium2.PdfDocument, number: int) -> EmbeddedFile:
    try:
        return _read_attachment(document.get_attachment(number))
    except pypdfium2.PdfiumError:
        return EmbeddedFile("", None)  # it is there, and cannot be read: the caller says so


def _read_attachment(attachment: pypdfium2.PdfAttachment) -> EmbeddedFile:
    name = ""  # says what it was meant to be, whatever becomes of its content
    try:
        name = attachment.get_name()
        content = bytes(attachment.get_data())
        return EmbeddedFile(name, content if len(content) <= _MAX_ATTACHMENT_BYTES else None)
    except pypdfium2.PdfiumError:
        return EmbeddedFile(name, None)  # it is there, and cannot be read: the caller says so
