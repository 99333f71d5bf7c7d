"""What bytes are, by their beginning: names and declared types lie."""

PDF = "application/pdf"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"

EXTENSIONS = {PDF: "pdf", PNG: "png", JPEG: "jpg", TIFF: "tiff"}

_MAGIC = ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"II*\x00", TIFF), (b"MM\x00*", TIFF))
_WRAPPERS = (b"PK\x03\x04", b"\x78\x9f\x3e\x22")  # zip, TNEF
HEAD_BYTES = 1024


def content_type_of(head: bytes) -> str | None:
    """The type of a document by its first `HEAD_BYTES`; None for what Mailroom does not read."""
    for magic, content_type in _MAGIC:
        if head.startswith(magic):
            return content_type
    # Readers accept a PDF that begins within the first kilobyte, and an archive may hold one that does.
    return PDF if b"%PDF-" in head[:HEAD_BYTES] and not head.startswith(_WRAPPERS) else None
