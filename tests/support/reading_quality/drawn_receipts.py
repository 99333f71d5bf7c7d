"""Receipts of our own making as a telephone takes them: small, askew, noisy, badly lit, some of them turned.

What is printed and how it was spoiled follow from the number of the receipt and its series alone. Rules are made on one
series; that of which figures are reported has other receipts, other shops and more languages, and is never looked at.
All names and numbers are made up.
"""

import io
from calendar import month_name
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import reportlab
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

RECEIPTS = 50
FOR_RULES, REPORTED = "receipt", "left out, second"
_FONTS = Path(reportlab.__file__).with_name("fonts")


@dataclass(frozen=True, slots=True)
class DrawnReceipt:
    """A picture (JPEG), and what stands on it."""

    family: str
    picture: bytes
    truth: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Shop:
    language: str
    name: str
    street: str
    title: str
    date: str  # the label, and how a day is written
    day: str
    items: tuple[str, ...]
    net: str
    tax: str
    total: str
    paid: str
    rate: int
    currency: str
    symbol: str
    point: str
    thanks: str


_SHOPS = (
    _Shop("en", "Harbour Books Ltd", "12 Quay Street, Bristol", "Receipt No", "Date", "{d:02}/{m:02}/{y}",
          ("Notebook A5 lined", "Ball pens blue", "Paper clips", "City map", "Postcards"),
          "Subtotal", "VAT", "TOTAL", "Card", 20, "GBP", "£", ".", "Thank you for your visit"),
    _Shop("de", "Blumen Sommer GmbH", "Marktplatz 4, 53111 Bonn", "Beleg-Nr.", "Datum", "{d:02}.{m:02}.{y}",
          ("Rosen rot", "Blumenerde 20 l", "Vase Glas", "Gießkanne", "Tulpen gelb"),
          "Netto", "MwSt", "Gesamtbetrag", "EC-Karte", 19, "EUR", "€", ",", "Vielen Dank für Ihren Einkauf"),
    _Shop("fr", "Papeterie du Port SARL", "8 rue des Lilas, 13002 Marseille", "Facture N°", "Date", "{d:02}/{m:02}/{y}",
          ("Cahier 96 pages", "Stylo bleu", "Ramette A4", "Enveloppes", "Classeur"),
          "Total HT", "TVA", "Total TTC", "Carte bancaire", 20, "EUR", "€", ",", "Merci de votre visite"),
    _Shop("es", "Ferretería Robles S.L.", "Calle Mayor 31, Toledo", "Ticket nº", "Fecha", "{d:02}/{m:02}/{y}",
          ("Tornillos 4 mm", "Martillo", "Pintura blanca", "Cinta", "Llave inglesa"),
          "Base imponible", "IVA", "Total", "Tarjeta", 21, "EUR", "€", ",", "Gracias por su compra"),
    _Shop("nl", "Fietshuis Jansen B.V.", "Kade 7, 3511 Utrecht", "Bonnummer", "Datum", "{d:02}-{m:02}-{y}",
          ("Binnenband 28", "Fietsbel", "Kettingolie", "Voorlicht", "Slot"),
          "Subtotaal", "BTW", "Totaal", "PIN", 21, "EUR", "€", ",", "Bedankt en tot ziens"),
)  # fmt: skip


_LEFT_OUT_SHOPS = (
    _Shop("it", "Libreria Al Ponte S.r.l.", "Via Roma 18, 50123 Firenze", "Fattura n.", "Data", "{d:02}/{m:02}/{y}",
          ("Quaderno a righe", "Penna blu", "Carta da lettere", "Mappa", "Segnalibro"),
          "Imponibile", "IVA", "Totale", "Bancomat", 22, "EUR", "€", ",", "Grazie e arrivederci"),
    _Shop("pt", "Padaria Lisboa Lda", "Rua Augusta 77, 1100 Lisboa", "Fatura n.º", "Data", "{d:02}-{m:02}-{y}",
          ("Pão de centeio", "Bolo de arroz", "Café moído", "Sumo de laranja", "Queijo"),
          "Total líquido", "IVA", "Total", "Multibanco", 23, "EUR", "€", ",", "Obrigado pela sua visita"),
    _Shop("da", "Havnens Værktøj ApS", "Strandgade 5, 1401 København", "Fakturanr.", "Dato", "{d:02}.{m:02}.{y}",
          ("Skruer 4 mm", "Hammer", "Maling hvid", "Målebånd", "Lim"),
          "Subtotal", "Moms", "I alt", "Dankort", 25, "DKK", "DKK", ",", "Tak for besøget"),
    _Shop("sv", "Järnhandel Norrström AB", "Storgatan 12, 11122 Stockholm", "Kvitto nr", "Datum", "{y}-{m:02}-{d:02}",
          ("Skruv 4 mm", "Hammare", "Målarfärg vit", "Måttband", "Lim"),
          "Netto", "Moms", "Totalt", "Kort", 25, "SEK", "SEK", ",", "Tack för besöket"),
    _Shop("de", "Café Lindenhof e.K.", "Am Ring 9, 50667 Köln", "Rechnung Nr.", "Datum", "{d:02}.{m:02}.{y}",
          ("Frühstück klein", "Kaffee", "Kuchen", "Saft", "Suppe"),
          "Nettobetrag", "MwSt.", "Rechnungsbetrag", "Bar", 19, "EUR", "EUR", ",", "Auf Wiedersehen"),
    _Shop("en", "Alder Garage Ltd", "3 Mill Lane, Leeds", "Invoice No.", "Date", "{d:02} {month} {y}",
          ("Oil filter", "Brake pads", "Wiper blades", "Labour", "Bulb"),
          "Net", "VAT", "Total", "Visa", 20, "GBP", "GBP", ".", "Drive safely"),
)  # fmt: skip


def draw_receipts(series: str = REPORTED, count: int = RECEIPTS) -> Iterator[DrawnReceipt]:
    for number in range(count):
        yield draw_receipt(number, series)


def draw_receipt(number: int, series: str = FOR_RULES) -> DrawnReceipt:
    random = Random(f"{series} {number}")
    shops = (*_SHOPS, *_LEFT_OUT_SHOPS) if series == REPORTED else _SHOPS
    shop = shops[number % len(shops)]
    lines, truth = _write_receipt(shop, random)
    picture = _spoil(_print_lines(lines, random), random)
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=random.randint(45, 75))
    return DrawnReceipt(f"receipt-{shop.language}", written.getvalue(), truth)


def _write_receipt(shop: _Shop, random: Random) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Rows of what stands at the left and at the right edge."""
    day = {"d": random.randint(1, 28), "m": random.randint(1, 12), "y": 2026}
    name = f"{random.randint(10, 99)}-{random.randint(10000, 99999)}"
    prices = [Decimal(random.randint(150, 9000)) / 100 for _ in range(random.randint(2, 5))]
    gross = sum(prices, Decimal(0))
    net = (gross * 100 / (100 + shop.rate)).quantize(Decimal("0.01"))
    write = _Writer(shop).write
    items = [(item, write(price)) for item, price in zip(random.sample(shop.items, len(prices)), prices, strict=True)]
    rows = [
        (shop.name, ""),
        (shop.street, ""),
        ("", ""),
        (f"{shop.title} {name}", ""),
        (f"{shop.date}: {shop.day.format(**day, month=month_name[day['m']])}", ""),
        ("", ""),
        *items,
        ("", ""),
        (shop.net, write(net)),
        (f"{shop.tax} {shop.rate} %", write(gross - net)),
        (shop.total, f"{shop.symbol} {write(gross)}" if shop.point == "." else f"{write(gross)} {shop.symbol}"),
        (shop.paid, write(gross)),
        ("", ""),
        (shop.thanks, ""),
    ]
    truth = {
        "supplier_name": shop.name,
        "invoice_number": name,
        "issue_date": f"{day['y']}-{day['m']:02}-{day['d']:02}",
        "currency": shop.currency,
        "total_gross": f"{gross:.2f}",
        "total_net": f"{net:.2f}",
        "total_tax": f"{gross - net:.2f}",
    }
    return rows, truth


@dataclass(frozen=True, slots=True)
class _Writer:
    shop: _Shop

    def write(self, amount: Decimal) -> str:
        return f"{amount:.2f}".replace(".", self.shop.point)


def _print_lines(rows: list[tuple[str, str]], random: Random) -> Image.Image:
    size = random.randint(15, 22)
    font = _choose_font(size, random, "".join(left + right for left, right in rows))
    width = int(size * 22)
    paper = Image.new("L", (width + 2 * size, int(size * 1.6 * (len(rows) + 3))), 245)
    draw = ImageDraw.Draw(paper)
    for number, (left, right) in enumerate(rows):
        top = int(size * 1.6 * (number + 1.5))
        draw.text((size, top), left, fill=35, font=font)
        draw.text((size + width - draw.textlength(right, font=font), top), right, fill=35, font=font)
    return paper


def _choose_font(size: int, random: Random, text: str) -> ImageFont.FreeTypeFont:
    name = random.choice(["Vera.ttf", "VeraBd.ttf", None])
    if name is None and text.isascii():  # Pillow's own font has no other letters
        font = ImageFont.load_default(size)
        assert isinstance(font, ImageFont.FreeTypeFont)
        return font
    return ImageFont.truetype(_FONTS / (name or "Vera.ttf"), size)


def _spoil(paper: Image.Image, random: Random) -> Image.Image:
    """Laid on a table askew, lit from one side, out of focus, noisy; one in ten is turned."""
    width, height = paper.size
    table = Image.new("L", (int(width * 1.15), int(height * 1.12)), random.randint(70, 130))
    table.paste(paper, ((table.width - width) // 2, (table.height - height) // 2))
    lean = random.uniform(-0.02, 0.02)
    photo = table.transform(table.size, Image.Transform.AFFINE, (1, lean, 0, 0, 1, 0), Image.Resampling.BICUBIC)
    angle = random.uniform(-6, 6)
    photo = photo.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=100)
    light = Image.linear_gradient("L").rotate(random.choice([0, 90, 180, 270])).resize(photo.size)
    photo = ImageChops.multiply(photo, light.point(lambda value: 160 + value * 95 // 255))
    photo = photo.filter(ImageFilter.GaussianBlur(random.uniform(0.4, 0.9)))
    photo = _add_noise(photo, random.randint(10, 28), random)
    return photo.rotate(random.choice([90, 180, 270]), expand=True) if random.random() < 0.1 else photo


def _add_noise(photo: Image.Image, strength: int, random: Random) -> Image.Image:
    """Grain of about `strength` grey levels, both ways."""
    first, second = (Image.frombytes("L", photo.size, random.randbytes(photo.width * photo.height)) for _ in range(2))
    grain = Image.blend(first, second, 0.5)
    return ImageChops.add(photo, grain.point(lambda value: value * 2 * strength // 255), 1, -strength)
