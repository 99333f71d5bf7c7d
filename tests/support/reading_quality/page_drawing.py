"""A text drawn as a PDF with a text layer, since Mailroom gets PDFs and never texts."""

import unicodedata
from io import BytesIO
from pathlib import Path

import reportlab
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.pdfgen.canvas import Canvas

_MARGIN_PT = 40.0
_LARGEST_PT, _SMALLEST_PT = 9.5, 5.0
_LEADING = 1.2
# With more letters than the fonts that every PDF reader has; of a fixed width, so that columns stay columns.
_WIDE_FONTS = ("DejaVuSansMono.ttf", "LiberationMono-Regular.ttf")


def draw_text(text: str) -> bytes:
    """Pages of the text, columns kept: the type is small enough for the longest line."""
    rows = [_clean_row(row) for row in unicodedata.normalize("NFC", text).splitlines()]
    font = _choose_font("".join(rows))
    width, height = A4
    advance = pdfmetrics.stringWidth("0", font, 1.0)
    widest = max((len(row) for row in rows), default=1) or 1
    size = max(_SMALLEST_PT, min(_LARGEST_PT, (width - 2 * _MARGIN_PT) / (widest * advance)))
    per_page = int((height - 2 * _MARGIN_PT) / (size * _LEADING))
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=True)
    for start in range(0, max(len(rows), 1), per_page):
        canvas.setFont(font, size)
        for number, row in enumerate(rows[start : start + per_page], 1):
            canvas.drawString(_MARGIN_PT, height - _MARGIN_PT - number * size * _LEADING, row)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def read_text_file(path: Path) -> str:
    """Sample texts are UTF-8, but for a few that came as Windows-1252."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _clean_row(row: str) -> str:
    return "".join(letter for letter in row.expandtabs(8) if unicodedata.category(letter) not in ("Cc", "Cf")).rstrip()


def _choose_font(text: str) -> str:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return _register_wide_font()
    return "Courier"


def _register_wide_font() -> str:
    """A font of this machine; the one that reportlab brings has no letters of Eastern Europe: the last resort."""
    for name in (*_WIDE_FONTS, str(Path(reportlab.__file__).with_name("fonts") / "Vera.ttf")):
        try:
            pdfmetrics.registerFont(TTFont("wide", name))
        except TTFError:
            continue
        return "wide"
    return "Courier"
