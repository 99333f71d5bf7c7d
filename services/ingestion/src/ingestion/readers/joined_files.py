"""PDFs that were joined as files: the second begins where the first one ends. A viewer, and pdfium, shows the last one
alone. What is saved again at the end of a file, or lies in it as an attachment, does not begin so."""

import re
from typing import BinaryIO

_CHUNK = 1024 * 1024
_OVERLAP = 64
_NEXT = re.compile(rb"%%EOF\s{0,32}%PDF-\d")


def holds_several_pdfs(file: BinaryIO) -> bool:
    """Reads the file from its beginning, and leaves it there."""
    file.seek(0)
    kept, found = b"", False
    while not found and (chunk := file.read(_CHUNK)):
        kept += chunk
        found = _NEXT.search(kept) is not None
        kept = kept[-_OVERLAP:]
    file.seek(0)
    return found
