"""The repository's own mails, and what `expected.json` beside them says must become of each. No I/O but `load`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mailroom_sandbox.site.demo.accounting import Account, Item, Outcome, Part

_VALUES = ("supplier_name", "invoice_number", "issue_date", "total_gross", "currency")


@dataclass(frozen=True, slots=True)
class Expectations:
    """`mails` by file name, `documents` by the names that the mails' parts give."""

    mails: Item
    documents: Item


def load_expectations(folder: Path) -> Expectations:
    content = json.loads((folder / "expected.json").read_text())
    return Expectations(content["mails"], content["documents"])


def find_differences(
    expected: Expectations, accounts: Iterable[tuple[str, Account]], *, lists_inline: bool = True
) -> Iterator[str]:
    """One sentence for each thing that is not as it must be.

    Graph says of a mail with nothing but inline parts that it has no attachments; such parts need not be listed.
    """
    given = dict(accounts)
    for mail, wish in expected.mails.items():
        if mail not in given:
            yield f"{mail}: not delivered"
        elif given[mail].missing is None:  # what is missing has been said already
            wishes = (
                wish["parts"] if lists_inline or given[mail].parts else [part for part in wish["parts"] if part["take"]]
            )
            yield from (f"{mail}: {text}" for text in _of_mail(wishes, given[mail], expected.documents))


def _of_mail(wishes: Iterable[Item], account: Account, documents: Item) -> Iterator[str]:
    parts = list(account.parts)
    for wish in wishes:
        part = next((part for part in parts if _is_meant(wish, part)), None)
        if part is None:
            what = "become a document" if wish["take"] else f"be left as {wish['reason']}"
            yield f"{wish['filename']} must {what}"
            continue
        parts.remove(part)
        if wish["take"] and part.document is not None:
            yield from _of_document(documents[wish["document"]], part.document)
    yield from (f"{part.filename} is {part.outcome} ({part.reason}) and not expected" for part in parts)


def _is_meant(wish: Item, part: Part) -> bool:
    """What is taken is known by its bytes; what is left by its name, which for a nested mail may be its subject."""
    if wish["take"]:
        return part.document is not None and part.document["content_sha256"] == wish["sha256"]
    return (
        part.outcome is Outcome.LEFT
        and part.reason == wish["reason"]
        and part.filename in (wish["filename"], wish.get("subject"))
    )


def _of_document(wish: Item, document: Item) -> Iterator[str]:
    extraction = document["extraction"] or {}
    for name in _VALUES:
        if name in wish and extraction.get(name) != wish[name]:
            source = (document["source_metadata"] or {}).get("attachment_filename")
            yield f"{source}: {name} is {extraction.get(name)!r}, must be {wish[name]!r}"
