"""Pages that are asked for: few that match, many and none."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from bench.search.filled_tables import BIG_TENANT

from ingestion.ports.documents import DocumentFilter


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, of whom, and the position that the page begins before."""

    name: str
    wanted: DocumentFilter
    before: int | None = None
    tenant_id: str = BIG_TENANT
    limit: int = 100


def list_questions(documents: int) -> Iterator[Question]:
    middle, old = documents // 2, documents // 100
    yield Question("no filter", DocumentFilter())
    yield Question("no filter, from the middle", DocumentFilter(), middle)
    yield Question("export, first page", DocumentFilter(), limit=200)
    yield Question("export, among the oldest", DocumentFilter(), old, limit=200)
    yield Question("export of one status, oldest", DocumentFilter(status="completed"), old, limit=200)
    yield Question("doc source", DocumentFilter(doc_source_id="bench/source-7"))
    yield Question("status of most", DocumentFilter(status="completed"))
    yield Question("status of none", DocumentFilter(status="pending"))
    yield Question("reason of many", DocumentFilter(reason="fields_missing"))
    yield Question("reason of few", DocumentFilter(reason="password_required"))
    yield Question("profile", DocumentFilter(profile="contract_note"))
    yield Question("document type of few", DocumentFilter(document_type="credit_note"))
    yield Question("document type of none", DocumentFilter(document_type="activity_statement"))
    yield Question("content", DocumentFilter(content_sha256="0" * 64))
    yield Question("number", DocumentFilter(number="re-123457"))
    yield from _list_ranges()
    yield from _list_words(middle)
    yield Question("possible duplicates", DocumentFilter(possible_duplicate=True))
    yield Question("possible duplicates, from middle", DocumentFilter(possible_duplicate=True), middle)
    yield Question("possible duplicates, one amount", DocumentFilter(possible_duplicate=True, **_amounts("77.77")))
    yield Question("no possible duplicates", DocumentFilter(possible_duplicate=False))
    small = "tenant-7"
    yield Question("small tenant, no filter", DocumentFilter(), tenant_id=small)
    yield Question("small tenant, amount", DocumentFilter(**_amounts("77.77")), tenant_id=small)
    yield Question("small tenant, word of all", DocumentFilter(text="invoice"), tenant_id=small)
    yield Question("small tenant, word of none", DocumentFilter(text="nowhere"), tenant_id=small)
    yield Question("small tenant, duplicates", DocumentFilter(possible_duplicate=True), tenant_id=small)


def _list_ranges() -> Iterator[Question]:
    yield Question("amount, one", DocumentFilter(**_amounts("77.77")))
    yield Question("amount, most", DocumentFilter(amount_from=Decimal(1), currency="EUR"))
    yield Question("amount, most, other currency", DocumentFilter(amount_from=Decimal(1), currency="USD"))
    yield Question("amount, none", DocumentFilter(amount_from=Decimal(1_000_000)))
    yield Question("issued on a day", DocumentFilter(issued_from=date(2020, 2, 2), issued_to=date(2020, 2, 2)))
    yield Question("issued in ten years", DocumentFilter(issued_from=date(2016, 1, 1)))
    yield Question("reason and amount", DocumentFilter(reason="fields_missing", amount_from=Decimal(9999)))


def _list_words(middle: int) -> Iterator[Question]:
    for text in ("invoice", "tenth3", "hundredth7", "thousandth7", "line777", "n123457", "nowhere"):
        yield Question(f"word {text}", DocumentFilter(text=text))
    yield Question("word invoice, from the middle", DocumentFilter(text="invoice"), middle)
    yield Question("word thousandth7, from middle", DocumentFilter(text="thousandth7"), middle)
    yield Question("supplier of all", DocumentFilter(supplier="supplier"))
    yield Question("supplier of few", DocumentFilter(supplier="supplier 777"))
    yield Question("supplier of former years", DocumentFilter(supplier="former"))
    yield Question("words tenth3 and third1", DocumentFilter(text="tenth3 third1"))
    yield Question("words half0 and half1 (none)", DocumentFilter(text="half0 half1"))
    yield Question("words hundredth7, thousandth8", DocumentFilter(text="hundredth7 thousandth8"))
    yield Question("supplier and word", DocumentFilter(supplier="777", text="invoice"))
    yield Question("word of all, status", DocumentFilter(text="invoice", status="completed"))
    yield Question("word of all, one amount", DocumentFilter(text="invoice", **_amounts("77.77")))
    yield Question("word of all, no amount", DocumentFilter(text="invoice", amount_from=Decimal(1_000_000)))
    yield Question("word of few, amount of most", DocumentFilter(text="line777", amount_from=Decimal(1)))
    yield Question("word of half, reason of others", DocumentFilter(text="half0", reason="fields_missing"))
    yield Question("word of one, status", DocumentFilter(text="n123457", status="completed"))


def _amounts(amount: str) -> dict[str, Any]:
    return {"amount_from": Decimal(amount), "amount_to": Decimal(amount)}
