"""The repository's own mails, and what `expected.json` beside them says must become of each. No I/O but `load`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mailroom_sandbox.site.demo.accounting import Item, MailAccount, PartAccount, PartOutcome

# Two words for a picture of the mail's layout: Graph tells no Content-Disposition, so that of the same part only the
# second can be said there.
_LAYOUT_PICTURES = frozenset({"inline_picture", "referenced_by_body"})
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
    expected: Expectations, accounts: Iterable[tuple[str, MailAccount]], *, lists_inline: bool = True
) -> Iterator[str]:
    """One sentence for each thing that is not as it must be.

    Graph says of a mail with nothing but inline parts that it has no attachments; such parts need not be listed.
    """
    account_by_mail = dict(accounts)
    for mail, expected_mail in expected.mails.items():
        if mail not in account_by_mail:
            yield f"{mail}: not delivered"
        elif account_by_mail[mail].missing is None:  # what is missing has been said already
            expected_parts = (
                expected_mail["parts"]
                if lists_inline or account_by_mail[mail].parts
                else [part for part in expected_mail["parts"] if part["take"]]
            )
            yield from (
                f"{mail}: {text}" for text in _compare_mail(expected_parts, account_by_mail[mail], expected.documents)
            )


def _compare_mail(expected_parts: Iterable[Item], account: MailAccount, documents: Item) -> Iterator[str]:
    parts = list(account.parts)
    for expected_part in expected_parts:
        part = next((part for part in parts if _is_same_part(expected_part, part)), None)
        if part is None:
            what = "become a document" if expected_part["take"] else f"be left as {expected_part['reason']}"
            yield f"{expected_part['filename']} must {what}"
            continue
        parts.remove(part)
        if expected_part["take"] and part.document is not None:
            yield from _compare_document(documents[expected_part["document"]], part.document)
    yield from (f"{part.filename} is {part.outcome} ({part.reason}) and not expected" for part in parts)


def _is_same_part(expected_part: Item, part: PartAccount) -> bool:
    """What is taken is known by its bytes; what is left by its name, which for a nested mail may be its subject."""
    if expected_part["take"]:
        return part.document is not None and part.document["content_sha256"] == expected_part["sha256"]
    return (
        part.outcome is PartOutcome.SKIPPED
        and _is_same_reason(part.reason, expected_part["reason"])
        and part.filename in (expected_part["filename"], expected_part.get("subject"))
    )


def _is_same_reason(reason: str | None, expected_reason: str) -> bool:
    return reason == expected_reason or {reason, expected_reason} == _LAYOUT_PICTURES


def _compare_document(expected_document: Item, document: Item) -> Iterator[str]:
    extraction = document["extraction"] or {}
    for name in _VALUES:
        if name in expected_document and extraction.get(name) != expected_document[name]:
            source = (document["source_metadata"] or {}).get("attachment_filename")
            yield f"{source}: {name} is {extraction.get(name)!r}, must be {expected_document[name]!r}"
