"""Templates in memory, a parser that runs in this process, and a year of one supplier's invoices."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import orjson
from generated_invoices import Row, draw

from ingestion.adapters.local_reader import LocalReader
from ingestion.adapters.template_reader import LocalTemplateReader
from ingestion.domain.layout_template import LayoutTemplate, Lesson, StoredTemplate, TemplateId, compute_marks
from ingestion.ports.readers import DocumentReaders
from mailroom_common.events import Profile
from mailroom_common.parser import JSON

T = TypeVar("T")


class DirectRunner:
    """Runs readers in this process; what they are asked and answer goes through JSON as it does between processes."""

    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Any], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
    ) -> T:
        module, _, name = function.partition(":")
        content = source if isinstance(source, bytes) else _read(source)
        answer = getattr(import_module(module), name)(BytesIO(content), arguments or {})
        return decode(orjson.loads(orjson.dumps(answer)))


def _read(file: Path) -> bytes:
    return file.read_bytes()


@asynccontextmanager
async def open_direct_readers(profile: Profile = Profile.INVOICE) -> AsyncIterator[DocumentReaders]:
    reader = LocalReader(DirectRunner())
    yield DocumentReaders(
        transcriber=reader, classifier=reader, extractor=reader, templates=LocalTemplateReader(DirectRunner())
    )


@dataclass
class FakeTemplates:
    """`Templates` and `Lessons`."""

    lessons: list[Lesson] = field(default_factory=list)
    learned: dict[TemplateId, tuple[str, LayoutTemplate]] = field(default_factory=dict)
    released: list[Lesson] = field(default_factory=list)

    async def has_templates(self, tenant_id: str) -> bool:
        return any(owner == tenant_id for owner, _ in self.learned.values())

    async def find_templates(self, tenant_id: str, features: Sequence[int]) -> Sequence[StoredTemplate]:
        marks = set(compute_marks(features))
        return [
            StoredTemplate(key, template)
            for key, (owner, template) in self.learned.items()
            if owner == tenant_id and marks & set(compute_marks(template.features))
        ]

    async def claim_lesson(self) -> Lesson | None:
        return self.lessons[0] if self.lessons else None

    async def release_lesson(self, lesson: Lesson) -> None:
        self.released.append(lesson)

    async def finish_lesson(
        self, lesson: Lesson, learned: LayoutTemplate | None, *, former: TemplateId | None = None
    ) -> None:
        self.lessons.remove(lesson)
        if learned is not None:
            key = former or TemplateId(f"template-{len(self.learned) + 1}")
            self.learned[key] = (lesson.tenant_id, learned)


@dataclass(frozen=True, kw_only=True)
class DrawnInvoice:
    """An invoice of a supplier whose labels no general rule knows, and whose number of lines changes."""

    month: int
    supplier: str = "Northlight Studio"
    vat_id: str = "DE136695976"
    iban: str = "DE88200800000970375700"
    order: str = "PO-9000"
    total_label: str = "Kindly remit"
    title: str = "INVOICE"
    levy_label: str = "levy 19 %"
    paid: str | None = None

    @property
    def net(self) -> Decimal:
        return Decimal(100 * self.month + 37)

    @property
    def tax(self) -> Decimal:
        return (self.net * Decimal("0.19")).quantize(Decimal("0.01"))

    @property
    def expected(self) -> dict[str, Any]:
        """What a person says that it is."""
        written = date(2026, self.month, 3)
        return {
            "supplier_name": self.supplier,
            "invoice_number": f"NL/{self.month:02}-{4000 + 7 * self.month}",
            "issue_date": written.isoformat(),
            "due_date": (written + timedelta(days=9)).isoformat(),
            "currency": "EUR",
            "total_gross": str(self.net + self.tax),
            "total_net": f"{self.net}.00",
            "total_tax": str(self.tax),
            "vat_id": self.vat_id,
            "iban": self.iban,
        }

    def pdf(self) -> bytes:
        values = self.expected
        issued, due = (date.fromisoformat(values[name]) for name in ("issue_date", "due_date"))
        rows: list[tuple[float, Row]] = [
            (50, [(40, self.title), (330, "our mark"), (430, "your mark")]),
            (65, [(330, values["invoice_number"]), (430, self.order)]),
            (100, [(40, "for"), (330, "drawn up"), (430, "to be settled")]),
            # Month first, which nothing on the page says.
            (115, [(40, "Kunde AG"), (330, f"{issued:%m/%d/%Y}"), (430, f"{due:%m/%d/%Y}")]),
            (130, [(40, "Hafenweg 4")]),
            (145, [(40, "20457 Hamburg")]),
            (190, [(40, "work"), (430, "worth")]),
        ]
        top = 205.0
        share = self.net / self.month
        for number in range(self.month):
            rows.append((top, [(40, f"Photograph series {number + 1}"), (430, f"{share:.2f}")]))
            top += 15
        rows += [
            (top + 20, [(330, "before levy"), (430, f"{self.net}.00")]),
            (top + 35, [(330, self.levy_label), (430, str(self.tax))]),
            (top + 50, [(330, self.total_label), (400, "EUR"), (430, self.paid or values["total_gross"])]),
            (700, [(40, f"{self.supplier}, Am Kai 1, Hamburg"), (330, self.vat_id)]),
            (715, [(40, "kindly to"), (120, self.iban)]),
        ]
        return draw(rows)
