"""What a reading would have had from OCR or a language model, and did not get here and now.

OCR and the model are settings: they may be switched off in one worker, or have smaller limits, after another one has
read the document with them; a model may be down, or its day's limit used up. A document that is read again without
them says less than it did, and that says nothing about the document (ADR 88).
"""

from dataclasses import dataclass

from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason

OCR_PREFIX = "ocr+"
_BY_PEOPLE = "review"
_WITHOUT_OCR = "OCR did not read all pictures: it is switched off in this worker, or reached a limit."
_WITHOUT_MODEL = "No language model read it: none is asked for this tenant, or its answer could not be used."
_NO_TEXT = frozenset({ReviewReason.NO_TEXT_LAYER, ReviewReason.IMAGE_NEEDS_OCR})
_READ_AND_SKIPPED = frozenset({DocumentSkipReason.NOT_AN_INVOICE, DocumentSkipReason.NO_TRADE})


@dataclass(frozen=True, slots=True)
class MissingReaders:
    """`pictures` are pages (from 0) that OCR was to read, and did not read whole: it is switched off, or a limit was
    reached. `has_text`: something was read beside them. `model`: one that would be asked gave no usable answer, or none
    is asked here."""

    pictures: tuple[int, ...] = ()
    has_text: bool = True
    model: bool = False

    def describe(self) -> str | None:
        """For whoever reads the history; None: nothing is missing."""
        missing = [_WITHOUT_OCR] if self.pictures else []
        missing += [_WITHOUT_MODEL] if self.model else []
        return " ".join(missing) or None


@dataclass(frozen=True, slots=True)
class ReadingTraits:
    """Of an outcome, what tells how it was read."""

    reader: str | None
    reason: Reason | None
    pages_not_read: tuple[int, ...] = ()


def is_less_for_want(missing: MissingReaders, reading: ReadingTraits, former: ReadingTraits) -> bool:
    """Whether the former reading had a reader that this one lacks."""
    # A page that the former one left as well is no loss.
    lost = set(missing.pictures) - set(former.pages_not_read)
    if lost and _had_ocr(missing, reading, former):
        return True
    return missing.model and _had_model(former.reader)


def _had_ocr(missing: MissingReaders, reading: ReadingTraits, former: ReadingTraits) -> bool:
    """Whether OCR had read the pictures that are left now, as far as that is certain: a newer reader may see pictures,
    or letters that nobody sees, where the former one saw nothing to be read."""
    if (former.reader or "").startswith(OCR_PREFIX) or former.reason is ReviewReason.OCR_UNCERTAIN:
        return True
    if former.reader is not None and former.reader == reading.reader:
        return True  # the same rules left nothing: an e-invoice whose page is a picture, say
    # Without any text nothing else can have told what it is.
    return not missing.has_text and reading.reason in _NO_TEXT and former.reason in _READ_AND_SKIPPED


def _had_model(reader: str | None) -> bool:
    if reader is None or reader == _BY_PEOPLE:
        return False
    return not all(map(_is_our_own, reader.split("+")))


def _is_our_own(part: str) -> bool:
    """`layout-rules/7`, `template/2`: our own readers have the number of their rules. What else names a reader is a
    model."""
    _, _, number = part.partition("/")
    return part == "ocr" or (number.isascii() and number.isdigit())
