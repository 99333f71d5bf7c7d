"""Writes the sample mails and expected.json beside this file: `python -m sandbox.mails.make_mails`.

The same libraries give the same bytes, so a changed file is a meant change.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sandbox.mails import pages
from sandbox.mails.container_mails import add_containers
from sandbox.mails.document_mails import add_names, add_pictures, add_plain_shapes
from sandbox.mails.invoices import ENGLISH
from sandbox.mails.mails_without_documents import add_without_documents
from sandbox.mails.sample_mails import Documents, Mails, with_text
from sandbox.mails.wrappers import (
    file_part,
    named,
)

_PDF = "application/pdf"
GROUPS: tuple[Callable[[Mails], None], ...] = (
    add_plain_shapes,
    add_names,
    add_pictures,
    add_containers,
    add_without_documents,
)


def make() -> dict[str, bytes]:
    """Every file by name."""
    documents = Documents()
    mails = Mails(documents)
    for add in GROUPS:
        add(mails)
    expected = {"mails": mails.expected, "documents": mails.documents.expected()}
    text = json.dumps(expected, ensure_ascii=False, indent=1) + "\n"
    return {**mails.sources, "expected.json": text.encode(), "../one-more.eml": _one_more(documents)}


def _one_more(documents: Documents) -> bytes:
    """For who wants to see a mail arrive: the others have been delivered, and no content becomes a document twice."""
    pdf = pages.invoice_pdf(replace(ENGLISH, number="NOS-48377", issued_on="2026-11-16", due_on="2026-12-16"))
    mails = Mails(documents)
    attached = file_part(pdf, f'{_PDF}; name="NOS-48377.pdf"', named("NOS-48377.pdf"))
    mails.add("one-more", "", "Invoice NOS-48377", with_text(attached), [])
    return mails.sources["one-more.eml"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file would change")
    folder = Path(__file__).parent
    files = make()
    changed = sorted(
        name
        for name, content in files.items()
        if not (folder / name).exists() or (folder / name).read_bytes() != content
    )
    if parser.parse_args().check:
        print("\n".join(changed) or f"{len(files)} files are as they should be")
        return 1 if changed else 0
    for stale in folder.glob("*.eml"):
        if stale.name not in files:
            stale.unlink()
    for name in changed:
        (folder / name).write_bytes(files[name])
    print(f"{len(files) - 2} mails, {sum(map(len, files.values()))} bytes; changed: {', '.join(changed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
