"""Which of the PDFs in a document is the invoice: a portfolio has a cover, and an invoice its terms attached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import is_invoice, read_invoice
from ingestion.extract.titles.invoice_kind import InvoiceKind

# In two readings of one invoice these never differ.
_IDENTITY = ("invoice_number", "total_gross", "currency", "issue_date", "vat_id", "iban")


@dataclass(frozen=True, slots=True)
class InvoicePart:
    """The pages of one PDF, and the invoice that they are."""

    transcript: Transcript
    invoice: Invoice
    kind: InvoiceKind
    has_certain_supplier: bool
    doubtful_totals: Mapping[str, str]
    are_several: bool = False  # one of its pages is another invoice, or a part of one another paper

    @property
    def is_certain(self) -> bool:
        """Whether it has what no terms and no cover have."""
        return self.invoice.invoice_number is not None and self.invoice.total_gross is not None


def list_invoice_parts(transcript: Transcript) -> list[InvoicePart]:
    """Those that are an invoice for certain, where there are any; else those that may be one. Of a document without
    PDFs in it: the document, if it may be an invoice."""
    parts = [read_part(part) for part in split_parts(transcript) if is_invoice(part)]
    return [part for part in parts if part.is_certain] or parts


def contradict_each_other(parts: Sequence[InvoicePart]) -> bool:
    """Whether they are different invoices, as far as they say."""
    return any(_contradict(parts[0].invoice, part.invoice) for part in parts[1:])


def split_parts(transcript: Transcript) -> list[Transcript]:
    """The document's own pages, and those of each PDF in it; without what has no lines."""
    if not transcript.part_starts:
        return [transcript]
    ends = [*transcript.part_starts, transcript.pages]
    parts = []
    for start, end in zip([0, *transcript.part_starts], ends, strict=True):
        # Rules look at how many pages stand in front of one.
        lines = tuple(replace(line, page=line.page - start) for line in transcript.lines if start <= line.page < end)
        if lines:
            parts.append(replace(transcript, pages=end - start, lines=lines, part_starts=()))
    return parts


def read_part(part: Transcript) -> InvoicePart:
    printed = read_invoice(part)
    return InvoicePart(
        part,
        printed.invoice,
        printed.kind,
        printed.has_certain_supplier,
        printed.doubtful_totals,
        printed.are_several,
    )


def _contradict(one: Invoice, other: Invoice) -> bool:
    pairs = ((getattr(one, name), getattr(other, name)) for name in _IDENTITY)
    return any(ours is not None and theirs is not None and ours != theirs for ours, theirs in pairs)
