from io import BytesIO

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers.page_letters import PageLetters, read_letters
from ingestion.readers.page_lines import build_lines


def read(pdf: bytes) -> PageLetters:
    return read_letters(pypdfium2.PdfDocument(pdf)[0])


def texts(pdf: bytes) -> list[str]:
    return [line.text for group in read(pdf).groups for line in build_lines(0, group).lines]


# A font with ligatures, as programs write them: one glyph, and what it means in several letters.
LIGATURES = {"%": "ff", "@": "ffi", "W": "11", "M": "000", "Q": "ss"}


def name_glyphs() -> bytes:
    names = b"".join(
        b"<%02X><%b>" % (ord(glyph), text.encode("utf-16-be").hex().encode()) for glyph, text in LIGATURES.items()
    )
    return (
        b"/CIDInit/ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange<00><FF>"
        b"endcodespacerange %d beginbfchar %b endbfchar endcmap end end" % (len(LIGATURES), names)
    )


def write_page(content: bytes, *, rotate: int = 0) -> bytes:
    """A page with this content stream, written by hand: no library draws text that stands for other text. `/F2` is a
    font of ligatures."""
    named = name_glyphs()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Rotate %d"
        b"/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>>>" % rotate,
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(named), named),
    ]
    body = b"%PDF-1.7\n"
    places = []
    for number, written in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, written)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        body
        + b"xref\n0 8\n0000000000 65535 f \n"
        + table
        + b"trailer<</Size 8/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(body)
    )


def turned(angle: int, *lines: str, stamp: str = "") -> bytes:
    """Lines that run in another direction than the page."""
    file = BytesIO()
    canvas = Canvas(file, pagesize=(600, 600))
    canvas.saveState()
    canvas.translate(300, 300)
    canvas.rotate(angle)
    for number, line in enumerate(lines):
        canvas.drawString(-200, 200 - number * 20, line)
    canvas.restoreState()
    canvas.drawString(20, 20, stamp)
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize("hyphen", [b"002D", b"2010", b"2011", b"00AD"])
def test_a_hyphen_that_stands_for_a_glyph_keeps_its_word_together(hyphen: bytes) -> None:
    """As Chromium writes them: the glyph's own meaning is a soft hyphen, and the span says which one is meant."""
    content = (
        b"BT /F1 12 Tf 60 700 Td (RE) Tj /Span<</ActualText<FEFF%b>>>BDC (-) Tj EMC (2026) Tj "
        b"/Span<</ActualText<FEFF%b>>>BDC (-) Tj EMC (118) Tj ET"
    ) % (hyphen, hyphen)
    assert texts(write_page(content)) == ["RE-2026-118"]


def test_a_word_that_stands_for_its_glyphs_has_its_letters_in_order() -> None:
    content = (
        b"BT /F1 12 Tf 60 700 Td (A ) Tj /Span<</ActualText<FEFF006F0066006600690063>>>BDC (oxyc) Tj EMC (e B) Tj ET"
    )
    assert texts(write_page(content)) == ["A office B"]


# Each way up of a page: what turns the text and where it begins.
WAYS_UP = [b"1 0 0 1 60 700", b"0 1 -1 0 300 60", b"-1 0 0 -1 500 300", b"0 -1 1 0 300 700"]


@pytest.mark.parametrize("way_up", WAYS_UP)
@pytest.mark.parametrize("again", [None, (0.0, 0.0), (0.3, 0.0), (0.3, -0.3), (0.6, 0.0)])
def test_a_ligature_has_all_its_letters_and_what_is_drawn_twice_is_read_once(
    way_up: bytes, again: tuple[float, float] | None
) -> None:
    """A name without its second f, or an amount without a digit, looks as right as with it."""
    glyphs = b"Ho%mann, o@ce EUR W.M,50 IBAN DEW MWW GroQ"
    content = b"BT /F2 12 Tf %b Tm (%b) Tj ET " % (way_up, glyphs)
    if again is not None:  # for bold
        content += b"q 1 0 0 1 %.1f %.1f cm %b Q" % (*again, content)
    assert texts(write_page(content)) == ["Hoffmann, office EUR 11.000,50 IBAN DE11 0001111 Gross"]


def test_ligatures_that_follow_each_other_are_each_read() -> None:
    assert texts(write_page(b"BT /F2 12 Tf 60 700 Td (A %% WW MM) Tj ET")) == ["A ffff 1111 000000"]


@pytest.mark.parametrize(
    "glyphs",
    [
        b"[(Total 1) 556 (1) (2,00)] TJ",
        b"[(Total 1) 450 (1) 106 (2,00)] TJ",
        b"(Total ) Tj 1 0 0 1 100 700 Tm (1) Tj /F2 12 Tf 1 0 0 1 100 700 Tm (12,00) Tj",
    ],
)
def test_a_digit_that_is_drawn_again_alone_is_read_once(glyphs: bytes) -> None:
    assert texts(write_page(b"BT /F1 12 Tf 60 700 Td %b ET" % glyphs)) == ["Total 12,00"]


@pytest.mark.parametrize("way_up", WAYS_UP)
@pytest.mark.parametrize(
    "glyphs",
    [b"(auf das)", b"[(auf) 180 ( das)] TJ ()", b"(auf ) Tj [140 (das)] TJ ()"],
)
def test_words_that_a_blank_parts_stay_parted_where_a_letter_leans_over_it(way_up: bytes, glyphs: bytes) -> None:
    content = b"BT /F1 12 Tf %b Tm %b Tj ET" % (way_up, glyphs)
    assert texts(write_page(content)) == ["auf das"]


@pytest.mark.parametrize("glyphs", [b"[(12.) 300 ( 500)] TJ ()", b"(12. ) Tj [300 (500)] TJ ()"])
def test_a_blank_that_is_drawn_over_parts_nothing(glyphs: bytes) -> None:
    assert texts(write_page(b"BT /F1 12 Tf 60 700 Td %b Tj ET" % glyphs)) == ["12.500"]


def test_a_blank_behind_one_line_parts_no_word_of_another() -> None:
    content = b"BT /F1 12 Tf 60 660 Td (R) Tj 0 40 Td (Total ) Tj 9.3 -40 Td (echnung) Tj ET"
    assert texts(write_page(content)) == ["Total", "Rechnung"]


def test_blanks_that_pdfium_adds_part_nothing() -> None:
    """It finds them between letters that are narrow, or stand a little apart."""
    assert texts(write_page(b"BT /F1 12 Tf 60 700 Td (Artil) Tj /F2 12 Tf [-117 (leria)] TJ ET")) == ["Artilleria"]


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_that_is_written_in_another_direction_is_read_upright(angle: int) -> None:
    lines = ("Rechnung Nr. 11.117", "Total 1.111,10 EUR")
    assert texts(turned(angle, *lines)) == list(lines)


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(rotate: int) -> None:
    """Text that was drawn level on a page that is shown turned lies on its side: it is read all the same."""
    assert texts(write_page(b"BT /F1 12 Tf 60 700 Td (Invoice 1) Tj ET", rotate=rotate)) == ["Invoice 1"]


def test_what_stands_upright_as_a_turned_page_is_shown_is_read_first() -> None:
    level = b"BT /F1 6 Tf 60 700 Td (%b) Tj ET" % (b"level when drawn " * 10)
    upright = b"BT /F1 6 Tf 0 1 -1 0 300 60 Tm (%b) Tj ET" % (b"upright as shown " * 8)
    first, second = texts(write_page(level + upright, rotate=90))
    assert (first[:7], second[:5]) == ("upright", "level")


def test_a_stamp_along_the_margin_does_not_turn_the_page() -> None:
    assert texts(turned(90, "COPY", stamp="Invoice 1")) == ["Invoice 1"]


def test_much_text_in_a_second_direction_is_read_after_the_first() -> None:
    lines = [f"row {number} of a wide table" for number in range(7)]
    found = texts(turned(90, *lines, stamp="Invoice 1 " * 8))
    assert sorted(found) == sorted([*lines, ("Invoice 1 " * 8).strip()])


def test_characters_that_the_text_layer_does_not_name_are_counted() -> None:
    content = b"BT /F1 12 Tf 60 700 Td (A) Tj /Span<</ActualText<FEFFE000E001>>>BDC (xx) Tj EMC ET"
    assert read(write_page(content)).lost == 2


def test_a_page_of_too_many_letters_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_page(b"BT /F1 12 Tf 60 700 Td (Invoice 1) Tj ET")
    assert not read(page).is_cut
    monkeypatch.setattr("ingestion.readers.page_letters.MAX_CHARACTERS", 5)
    assert read(page).is_cut
