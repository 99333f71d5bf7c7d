"""What the demo prints: documents as they appear, and the account of the mails."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mailroom_sandbox.site.demo.accounting import Item, MailAccount, PartOutcome

_COLUMNS = (
    ("mailbox", 16),
    ("status", 12),
    ("reason", 21),
    ("supplier", 22),
    ("number", 16),
    ("date", 10),
    ("total", 14),
    ("file", 28),
)
_NARROWEST = {"reason": 12, "supplier": 10, "number": 10, "file": 8}
_GAP = "  "
_STYLES = {"completed": "green", "needs_review": "yellow", "skipped": "dim", "failed": "red"}
_OUTCOMES = {
    PartOutcome.DOCUMENT: "green",
    PartOutcome.DUPLICATE: "cyan",
    PartOutcome.SKIPPED: "dim",
    PartOutcome.WAITING: "red",
}


class DocumentRows:
    """A table that grows at its foot; each document comes once it is finished, and again when that changes."""

    def __init__(self, console: Console, mailboxes: Mapping[str, str]) -> None:
        self._console = console
        self._mailboxes = mailboxes
        self._shown: dict[str, str] = {}
        self._widths = _fit_widths(console.width)

    def knows_mailbox_of(self, document: Item) -> bool:
        return document["doc_source_id"] in self._mailboxes

    def name_mailboxes(self, mailboxes: Mapping[str, str]) -> None:
        """Of doc sources that were connected meanwhile too."""
        self._mailboxes = {**self._mailboxes, **mailboxes}

    def show_documents(self, documents: Iterable[Item]) -> None:
        for document in documents:
            status = document["status"]
            if status in ("pending", "processing") or self._shown.get(document["id"]) == status:
                continue
            if not self._shown:
                self._print_row([name for name, _ in _COLUMNS], "bold")
            self._shown[document["id"]] = status
            # What came by no mailbox was uploaded: `doc_source_id` is then that of the tenant's uploads.
            is_upload = document["source_metadata"].get("provider") == "manual_upload"
            cells = _build_cells(
                document, self._mailboxes.get(document["doc_source_id"], "(upload)" if is_upload else "?")
            )
            self._print_row(cells, _STYLES.get(status, ""))

    def _print_row(self, cells: list[str], style: str) -> None:
        line = _GAP.join(_fit_text(cell, width) for cell, width in zip(cells, self._widths, strict=True))
        self._console.print(Text(line, style=style), soft_wrap=True)


def show_documents(console: Console, mailbox: str, documents: Iterable[Item]) -> None:
    """All documents of one mailbox, by supplier and number."""
    found = sorted(documents, key=lambda document: _build_cells(document, mailbox)[3:5])
    console.print(f"\n[bold]{mailbox}[/]")
    DocumentRows(console, {document["doc_source_id"]: mailbox for document in found}).show_documents(found)


def build_account_table(title: str, accounts: Iterable[tuple[str, MailAccount]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ("mail", "part", "what became of it", "why"):
        table.add_column(name, overflow="fold")
    for mail, account in accounts:
        if not account.parts:
            table.add_row(mail, "", Text("no part", style="dim"), account.missing or account.reason or "")
        for part in account.parts:
            status = part.document["status"] if part.document and part.outcome is not PartOutcome.WAITING else ""
            outcome = Text(" ".join(filter(None, (part.outcome, status))), style=_OUTCOMES[part.outcome])
            table.add_row(mail, part.filename or part.part_path, outcome, part.reason or _read_reason(part.document))
    return table


def _build_cells(document: Item, mailbox: str) -> list[str]:
    extraction: Mapping[str, Any] = document["extraction"] or {}  # Any: JSON
    return [
        mailbox,
        document["status"],
        _read_reason(document),
        extraction.get("supplier_name") or "",
        extraction.get("invoice_number") or "",
        extraction.get("issue_date") or "",
        _format_total(extraction),
        (document["source_metadata"] or {}).get("attachment_filename") or "",
    ]


def _read_reason(document: Item | None) -> str:
    return str((document and (document["skip_reason"] or document["review_reason"])) or "")


def _format_total(extraction: Mapping[str, Any]) -> str:
    """`?` is behind what its page calls the total though its own amounts speak against it."""
    believed, doubted = extraction.get("total_gross"), (extraction.get("page_totals") or {}).get("total_gross")
    amount = believed or doubted
    if amount is None:
        return ""  # a currency alone is no total
    return " ".join(filter(None, (amount, extraction.get("currency"), None if believed else "?")))


def _fit_text(text: str, width: int) -> str:
    text = " ".join(text.split())
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _fit_widths(console_width: int) -> list[int]:
    """Wide as they should be, or with file, number, supplier and reason giving way to a narrow terminal, in this
    order."""
    widths = dict(_COLUMNS)
    over = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - console_width
    for name, narrowest in reversed(_NARROWEST.items()):
        given = max(0, min(over, widths[name] - narrowest))
        widths[name] -= given
        over -= given
    return list(widths.values())
