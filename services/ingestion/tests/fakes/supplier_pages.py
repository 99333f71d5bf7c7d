"""The pages of supplier_pages.toml, with the words of an invoice in eleven languages between head and foot."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from ingestion.domain.transcript import Transcript


@dataclass(frozen=True, slots=True)
class SupplierPage:
    """`customer` may be empty: then nobody is written to."""

    name: str
    supplier: str
    language: str
    head: str
    foot: str = ""
    customer: str = ""

    def draw(self) -> Transcript:
        title, item, total, thanks = _WORDS[self.language]
        items = [f"{item} {number}          1,00          10,00" for number in range(1, 11)]
        body = [title, "", *items, f"{total}          100,00", "", thanks, ""]
        rows = [*self.head.splitlines(), "", "", *self.customer.splitlines(), "", *body, *self.foot.splitlines()]
        return Transcript.from_rows(rows)


def read_supplier_pages(kind: str) -> list[SupplierPage]:
    """Those of `stranger` or of `ordinary`."""
    pages = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [SupplierPage(**page) for page in pages[kind]]


_WORDS = {
    "en": ("Invoice no. 2031", "Work of day", "Total", "Thank you for your business."),
    "de": ("Rechnung Nr. 2031", "Arbeit am Tag", "Gesamtbetrag", "Vielen Dank für den Auftrag."),
    "fr": ("Facture n° 2031", "Travaux du jour", "Total TTC", "Nous vous remercions de la confiance."),
    "it": ("Fattura n. 2031", "Lavori del giorno", "Totale fattura", "Grazie per la fiducia."),
    "nl": ("Factuur nr. 2031", "Werk van dag", "Totaal te betalen", "Hartelijk dank voor de opdracht."),
    "es": ("Factura n.º 2031", "Trabajos del día", "Total factura", "Gracias por la confianza."),
    "pt": ("Fatura n.º 2031", "Trabalhos do dia", "Total da fatura", "Obrigado pela preferência."),
    "pl": ("Faktura nr 2031", "Prace dnia", "Razem brutto", "Dziękujemy za współpracę."),
    "cs": ("Faktura č. 2031", "Práce dne", "Celkem k úhradě", "Děkujeme za spolupráci."),
    "da": ("Faktura nr. 2031", "Arbejde på dag", "I alt", "Tak for samarbejdet."),
    "sv": ("Faktura nr 2031", "Arbete på dag", "Att betala", "Tack för förtroendet."),
}
