"""The numbers of whoever is to be paid: of their tax office, and of their account."""

from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.supplier import is_buyer_cell
from ingestion.extract.value_places import list_texts_below


def find_vat_id(page: Sequence[TextLine]) -> str | None:
    found: list[str] = []
    found_below: list[str] = []
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            match = labels.VAT_ID.search(cell.text)
            if not match or is_buyer_cell(page, index, number):
                continue
            behind = cell.text[match.start() :]
            beside = line.cells[number + 1].text if number + 1 < len(line.cells) else ""
            for text in (behind, beside):
                ids = values.find_vat_ids(text)
                if not ids and labels.POLISH_TAX_ID.search(cell.text):
                    ids = values.find_polish_tax_ids(text)
                found += ids[:1]
                if ids:
                    break
            else:
                found_below += [
                    vat for text in list_texts_below(page, index, cell) for vat in values.find_vat_ids(text)
                ]
    distinct = list(dict.fromkeys(found or found_below))
    return distinct[0] if len(distinct) == 1 else None


def find_iban(page: Sequence[TextLine]) -> str | None:
    """The first whose check digits are right: suppliers list several accounts of theirs, customers none."""
    for index, line in enumerate(page):
        for iban in values.find_ibans(line.text):
            if not any(labels.BUYER.search(cell.text) for cell in line.cells) and not is_buyer_cell(page, index, 0):
                return iban
    return None
