"""Why a document was skipped, or why a person should look at it: the values of `skip_reason` and `review_reason`."""

from enum import StrEnum


class DocumentSkipReason(StrEnum):
    NOT_AN_INVOICE = "not_an_invoice"  # classified as something that this doc source is not for
    NO_TRADE = "no_trade"  # for a doc source of trades: it says what it is, and that is no trade
    NOT_A_DOCUMENT = "not_a_document"  # no PDF, PNG, JPEG or TIFF by its bytes, or an icon
    REJECTED = "rejected"  # a person said that it is nothing for this doc source


class ReviewReason(StrEnum):
    """Of documents in `needs_review` and of `failed` ones, which need a person as much."""

    FIELDS_MISSING = "fields_missing"  # a field is unknown without which an invoice cannot be booked
    TOTALS_DO_NOT_ADD_UP = "totals_do_not_add_up"  # what the page names beside its total does not make it
    SUPPLIER_UNCERTAIN = "supplier_uncertain"  # one sign alone says whose invoice it is, and no other agrees with it
    DOCUMENT_TYPE_UNCERTAIN = "document_type_uncertain"  # by its titles it may ask for money or not
    STRUCK_OUT = "struck_out"  # a line goes through words of it: what counts instead a person says
    STAMPED = "stamped"  # a stamp, a watermark or a comment may take back or replace what it says
    CONFIDENCE_LOW = "confidence_low"  # its reader is less sure than its doc source asks for
    TRADES_NOT_READ = "trades_not_read"  # it says something that the trades which were read do not account for
    # A statement may sum up what notes state one by one, or the other way round: they would be booked twice.
    TRADES_MAY_BE_SUMMED = "trades_may_be_summed"
    TRADE_CANCELLED = "trade_cancelled"  # it takes a trade back: alone, or with another one in its place
    # It takes a trade back that no document has stated until then, or that may be one of several.
    CANCELLED_TRADE_NOT_FOUND = "cancelled_trade_not_found"
    # Another document takes a trade back that was not found, and it may be this one, by a number of another kind.
    TRADE_MAY_BE_CANCELLED = "trade_may_be_cancelled"
    PAGE_AND_XML_DISAGREE = "page_and_xml_disagree"  # the page of an e-invoice contradicts its XML
    IBAN_CHANGED = "iban_changed"  # to be paid to an account that is new for a supplier who is known with another one
    IBAN_NOT_ON_PAGE = "iban_not_on_page"  # only the XML names the account, and it is not known to be the supplier's
    EXTRACTION_TOO_LARGE = "extraction_too_large"  # more lines, or longer texts, than a result can carry
    PASSWORD_REQUIRED = "password_required"  # it is locked, and nobody has given its password  # noqa: S105
    PASSWORD_WRONG = "password_wrong"  # it is locked, and the password that was given does not open it  # noqa: S105
    UNREADABLE = "unreadable"  # damaged, or larger than any page
    # An attached mail or an archive that is locked, broken or beyond a limit: what could be taken out of it is filed.
    CONTAINER_UNREADABLE = "container_unreadable"
    NO_TEXT_LAYER = "no_text_layer"  # a page is a picture, and OCR is switched off or found no text on it
    TEXT_GARBLED = "text_garbled"  # the letters that a page names are not those that it shows
    TEXT_NOT_VISIBLE = "text_not_visible"  # nobody sees it, or it may be that nobody does: the page may show another
    FORM_NOT_READ = "form_not_read"  # a form whose page is a placeholder: only some programs show what is in it
    # More pages, or more text on a page, than is read, a file that was cut; or a page of it may be another invoice.
    PAGES_NOT_READ = "pages_not_read"
    SEVERAL_E_INVOICES = "several_e_invoices"  # XMLs of different invoices in one file: a person says which
    # PDFs in the PDF or behind it, its pages, or what stands on one page, are different papers: a person decides.
    SEVERAL_INVOICES = "several_invoices"
    EMBEDDED_FILES_NOT_READ = "embedded_files_not_read"  # files in a PDF that nothing reads, pictures without OCR
    XML_UNREADABLE = "xml_unreadable"  # an e-invoice's XML that cannot be read, whatever its page says
    IMAGE_NEEDS_OCR = "image_needs_ocr"  # a picture, and OCR is switched off or found no text on it
    OCR_UNCERTAIN = "ocr_uncertain"  # read off a picture, and a field that matters is not certain
    READERS_DISAGREE = "readers_disagree"  # two of rules, template and language model read a field differently
    # A language model read a value that is not on the page, or a total that no sum confirms.
    MODEL_UNCONFIRMED = "model_unconfirmed"
    NO_READER_YET = "no_reader_yet"  # nothing reads documents of this profile yet
    ARCHIVE_REFUSED = "archive_refused"  # it was read, and the blob store never takes the copy for the archive
    READER_LIMIT = "reader_limit"  # reading it reached a limit of the parser process
    READER_CRASHED = "reader_crashed"  # reading it ended the parser process
    BLOB_MISSING = "blob_missing"  # after all attempts the blob store has no such blob
    BLOB_MISMATCH = "blob_mismatch"  # after all attempts the blob has another hash than its record
    INTERNAL_ERROR = "internal_error"  # our own bug, after all attempts, or workers that died of it


Reason = DocumentSkipReason | ReviewReason


def parse_reason(value: str) -> Reason:
    """The reason that a reader gave, or a column holds: no value is in both enums.

    Raises:
        ValueError: it is in neither.
    """
    return DocumentSkipReason(value) if value in set(DocumentSkipReason) else ReviewReason(value)


def read_stored_reason(value: str, *, is_skipped: bool) -> Reason:
    """The reason that a row holds. A newer build may have written one that this build does not know, while it is rolled
    out or after it was rolled back: it is kept as it is, so that no worker ends at a document of the other build."""
    kind: type[Reason] = DocumentSkipReason if is_skipped else ReviewReason
    if value in set(kind):
        return kind(value)
    unknown = str.__new__(kind, value)
    unknown._name_ = unknown._value_ = value
    return unknown
