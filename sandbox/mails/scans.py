"""Draws an invoice as pictures: a clean PNG, a tilted grey JPEG like a phone's, a TIFF of three pages like a fax."""

import io
import random

from PIL import Image, ImageDraw, ImageFont
from sandbox.mails.invoices import Invoice
from sandbox.mails.pages import invoice_rows

_WIDTH, _HEIGHT = 827, 1170  # A4 at 100 dots an inch


def png(invoice: Invoice) -> bytes:
    return _saved(_page(invoice_rows(invoice)).convert("P", palette=Image.Palette.ADAPTIVE, colors=8), "PNG")


def jpeg(invoice: Invoice) -> bytes:
    chance = random.Random(11)  # noqa: S311 - specks on paper, the same each time
    page = _page(invoice_rows(invoice)).rotate(1.4, resample=Image.Resampling.BICUBIC, fillcolor=205)
    shade = Image.linear_gradient("L").resize(page.size).point([190 + value // 5 for value in range(256)])
    page = Image.blend(page, shade, 0.25)
    dots = ImageDraw.Draw(page)
    for _ in range(400):
        dots.point((chance.randrange(_WIDTH), chance.randrange(_HEIGHT)), fill=chance.randrange(120, 255))
    return _saved(page, "JPEG", quality=55)


def tiff(invoice: Invoice) -> bytes:
    rows = invoice_rows(invoice)
    covers = ["FAX", "", f"From: {invoice.supplier.name}", f"To: {invoice.customer.name}", "Pages: 3"]
    terms = ["Terms", "", "Payment within 14 days.", "Goods stay ours until they are paid."]
    pages = [_page(text).convert("1") for text in (covers, rows, terms)]
    return _saved(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="group4", dpi=(100, 100))


def logo() -> bytes:
    picture = Image.new("P", (48, 24), 0)
    picture.putpalette([255, 255, 255, 20, 90, 160])
    ImageDraw.Draw(picture).ellipse((4, 2, 44, 22), fill=1)
    return _saved(picture, "PNG")


def _page(rows: list[str]) -> Image.Image:
    page = Image.new("L", (_WIDTH, _HEIGHT), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(22)
    for index, row in enumerate(rows):
        draw.text((80, 90 + index * 36), row, fill=15, font=font)
    return page


def _saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()
