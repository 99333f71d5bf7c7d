"""`mailroom documents`: look for documents, save and decide about them, upload and export them, through ingestion."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from mailroom_cli.export_files import FileKind, refuse_terminal, write_export
from mailroom_cli.money import format_total
from mailroom_cli.options import AnswerAsJSON, OnlySource
from mailroom_cli.site_api import JSON, SiteAPI, open_site_api, quote_segment
from mailroom_cli.source_views import MAX_LISTED, find_source_id, note_limit, print_columns, print_json
from mailroom_cli.terminal import print_line
from mailroom_cli.trade_corrections import correct_trades
from mailroom_common.errors import Rejected, Unavailable

app = typer.Typer(name="documents", no_args_is_help=True, help="Documents, and what people decide about them.")

DocumentId = Annotated[str, typer.Argument(metavar="ID", help="As `mailroom documents list` shows it.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A file; standard output otherwise.")]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-f",
        help="NAME=VALUE of GET /documents: status, reason, supplier, number, text, amount_from, amount_to, "
        "currency, issued_from, issued_to, document_type, profile, possible_duplicate. Each may be given once; a value "
        "that nothing can match is refused with those that there are.",
    ),
]
Version = Annotated[
    int | None, typer.Option(help="The version that you saw; the decision is refused if there is another by now.")
]
Comment = Annotated[str | None, typer.Option(help="Kept with the decision.")]
Reviewer = Annotated[str | None, typer.Option(help="Who decides; kept with the decision.")]

_LIST_EXAMPLES = """Examples:

  mailroom documents list -f status=needs_review

  mailroom documents list -f supplier=acme -f amount_from=1000 --json
"""
_SHOW_EXAMPLES = """Examples:

  mailroom documents show 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10

  mailroom documents show 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 --history | jq '.[].changes'
"""
_CONFIRM_EXAMPLES = """Examples:

  mailroom documents confirm 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 --version 1 --reviewer anna
"""
_REJECT_EXAMPLES = """Examples:

  mailroom documents reject 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 --comment "an offer, no invoice" --reviewer anna
"""
_REPROCESS_EXAMPLES = """Examples:

  mailroom documents reprocess 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10

Many at once, by status, reason or reader: mailroom replay documents.
"""
_UPLOAD_EXAMPLES = """Examples:

  mailroom documents upload invoice.pdf scan.tif

  mailroom documents upload --profile contract_note notes/*.pdf
"""
_CORRECT_EXAMPLES = """Examples:

  mailroom documents correct 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 total_gross=119.00 due_date=2026-12-27 --version 1

  mailroom documents correct 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 trades.0.quantity=10 trades.1=

A value that contradicts the others leaves the document in review. Where it is right, it is confirmed:

  mailroom documents confirm 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 --version 2
"""
_LOCKED_EXAMPLES = """Examples:

  mailroom documents password 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10

  mailroom documents password 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 < password.txt
"""
_CONTENT_EXAMPLES = """Examples:

  mailroom documents content 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 -o invoice.pdf
"""
_PAGE_EXAMPLES = """Examples:

  mailroom documents page 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 -o page.png

  mailroom documents page 6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10 2 > second.png
"""
_EXPORT_EXAMPLES = """Examples:

  mailroom documents export -f status=completed > documents.csv

  mailroom documents export --format jsonl -f issued_from=2026-01-01 -o 2026.jsonl
"""


@app.command("list", epilog=_LIST_EXAMPLES)
def list_documents(filters: Filters = None, source: OnlySource = None, as_json: AnswerAsJSON = False) -> None:
    """Show the newest documents that match."""
    with open_site_api() as api:
        items = api.list_items("/documents", _build_query(api, filters, source), most=MAX_LISTED)
    note_limit(items, MAX_LISTED, "`mailroom documents export` has all of them")
    if as_json:
        print_json(items)
        return
    print_columns(
        ["ID", "STATUS", "REASON", "SUPPLIER", "NUMBER", "TOTAL", "VERSION", "FILE"],
        [_build_row(item) for item in items],
    )


@app.command("show", epilog=_SHOW_EXAMPLES)
def show_document(document_id: DocumentId, history: Annotated[bool, typer.Option("--history")] = False) -> None:
    """Show a document as JSON; with --history its versions, what was decided, and what another reading came to."""
    path = f"/documents/{quote_segment(document_id)}"
    with open_site_api() as api:
        print_json(api.list_items(f"{path}/history") if history else api.call("GET", path))


@app.command("content", epilog=_CONTENT_EXAMPLES)
def save_content(document_id: DocumentId, output: Output = None) -> None:
    """Save a document as it came, byte for byte."""
    _save(f"/documents/{quote_segment(document_id)}/content", output)


@app.command("page", epilog=_PAGE_EXAMPLES)
def save_page(
    document_id: DocumentId,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", min=1, help="From 1, as `evidence` of the document counts.")
    ] = 1,
    output: Output = None,
) -> None:
    """Save a page of a document as a picture (PNG), which is safe to look at whoever sent it."""
    _save(f"/documents/{quote_segment(document_id)}/pages/{number}", output)


@app.command("confirm", epilog=_CONFIRM_EXAMPLES)
def confirm_document(
    document_id: DocumentId, version: Version = None, comment: Comment = None, reviewer: Reviewer = None
) -> None:
    """What the document says is right."""
    _decide(document_id, {"action": "confirm"}, version, comment, reviewer)


@app.command("correct", epilog=_CORRECT_EXAMPLES)
def correct_document(
    document_id: DocumentId,
    fields: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE…", help="An empty value is for: it has none.")],
    version: Version = None,
    comment: Comment = None,
    reviewer: Reviewer = None,
) -> None:
    """The document says this instead. Of a contract note: trades.N.FIELD=VALUE, N from 0; trades.N= takes one away."""
    given: JSON = {name: value or None for name, value in _split_pairs(fields, "total_gross=119.00").items()}
    body: JSON = {"action": "correct"}
    if document_type := given.pop("document_type", None):
        body["document_type"] = document_type
    if of_trades := {name: given.pop(name) for name in tuple(given) if name.startswith("trades.")}:
        with open_site_api() as api:
            seen = api.call("GET", f"/documents/{quote_segment(document_id)}")
        if seen.get("profile") == "invoice":
            raise Rejected(f"{next(iter(of_trades))}: the document is an invoice, and has no trades")
        # What is corrected are the trades of this version, whichever was seen before.
        version = seen["version"] if version is None else version
        given["trades"] = correct_trades((seen["extraction"] or {}).get("trades") or [], of_trades)
    if given:
        body["fields"] = given
    _decide(document_id, body, version, comment, reviewer)


@app.command("reject", epilog=_REJECT_EXAMPLES)
def reject_document(
    document_id: DocumentId, version: Version = None, comment: Comment = None, reviewer: Reviewer = None
) -> None:
    """The document is nothing for its doc source."""
    _decide(document_id, {"action": "reject"}, version, comment, reviewer)


@app.command("password", epilog=_LOCKED_EXAMPLES)
def give_password(document_id: DocumentId) -> None:
    """Read a locked document again with its password, which is asked for, or taken from standard input.

    It is no argument: those are shown to everybody on this machine, and kept by the shell.
    """
    password = _ask_password()
    with open_site_api() as api:
        api.call("POST", f"/documents/{quote_segment(document_id)}/password", body={"password": password})
    print_line(f"It is read again with this password. What came of it: mailroom documents show {document_id}")


@app.command("reprocess", epilog=_REPROCESS_EXAMPLES)
def reprocess_document(document_id: DocumentId) -> None:
    """Read one document again by the readers that run now; its result, or what a person decided, stands meanwhile."""
    with open_site_api() as api:
        api.call("POST", f"/documents/{quote_segment(document_id)}/reprocess")
    print_line(f"It is read again. What came of it: mailroom documents show {document_id} --history")


@app.command("upload", epilog=_UPLOAD_EXAMPLES)
def upload_documents(
    files: Annotated[list[Path], typer.Argument(help="PDF, PNG, JPEG or TIFF.")],
    profile: Annotated[str, typer.Option(help="invoice or contract_note")] = "invoice",
) -> None:
    """Upload files, each as a document. Exit code 1 when one of them was refused; the others are uploaded."""
    refused = 0
    with open_site_api() as api:
        for number, file in enumerate(files, start=1):
            # Bytes that are no UTF-8 are legal in a file's name, and nothing that a URL or a database can hold.
            query = {"profile": profile, "filename": os.fsencode(file.name).decode(errors="replace")}
            try:
                document = api.call("POST", "/documents", content=_read_file(file), query=query)
            except Rejected as error:
                # That one file is no document says nothing of the others.
                refused += 1
                print_line(f"mailroom: {file}: {error}", err=True)
            except Unavailable as error:
                rest = len(files) - number
                raise Unavailable(
                    f"{file}: {error} It may have been stored, and is no second document when it is sent again. Not"
                    f" sent yet: {rest} of {len(files)} files; those that went in are named above."
                ) from error
            else:
                print_line(f"{document['id']}  {document['status']}  {file}")
    if refused:
        raise typer.Exit(1)


@app.command("export", epilog=_EXPORT_EXAMPLES)
def export_documents(
    filters: Filters = None,
    source: OnlySource = None,
    export_format: Annotated[FileKind, typer.Option("--format")] = FileKind.CSV,
    output: Output = None,
) -> None:
    """All documents that match, newest first, as CSV or JSON Lines."""
    refuse_terminal(output)
    with open_site_api() as api:
        query = {**_build_query(api, filters, source), "format": export_format.value}
        write_export(api.stream_content("/documents/export", query), output)


def _save(path: str, output: Path | None) -> None:
    refuse_terminal(output)
    with open_site_api() as api:
        write_export(api.stream_content(path, {}), output)


def _read_file(file: Path) -> bytes:
    """
    Raises:
        Rejected: it cannot be read; a device has no end.
    """
    if file.exists() and not file.is_file():
        raise Rejected("it is no file: name the files in it")
    try:
        return file.read_bytes()
    except OSError as error:
        raise Rejected(f"it cannot be read: {error.strerror}") from error


def _ask_password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True))
    if password := sys.stdin.readline().rstrip("\r\n"):
        return password
    raise Rejected("standard input has no password in its first line")


def _decide(document_id: str, decision: JSON, version: int | None, comment: str | None, reviewer: str | None) -> None:
    options = {"comment": comment, "reviewer": reviewer}
    body = {**decision, **{name: value for name, value in options.items() if value is not None}}
    with open_site_api() as api:
        document = api.post_decision(f"/documents/{quote_segment(document_id)}", "review", body, version)
    reason, version = document["skip_reason"] or document["review_reason"], document["version"]
    print_line(f"{document['status']}{f' ({reason})' if reason else ''}, version {version}")
    if decision["action"] == "correct" and document["review_reason"]:
        print_line(
            f"It needs review as corrected. Where it is right so: mailroom documents confirm {document_id}"
            f" --version {version}",
            err=True,
        )


def _build_query(api: SiteAPI, filters: list[str] | None, source: str | None) -> dict[str, str]:
    query = _split_pairs(filters or [], "status=needs_review")
    return query if source is None else {**query, "doc_source_id": find_source_id(api, source)}


def _split_pairs(texts: list[str], example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise typer.BadParameter(f"{text!r} is no NAME=VALUE, as {example}")
        if name in pairs:
            raise typer.BadParameter(f"{name} is given twice: it has one value")
        pairs[name] = value
    return pairs


def _build_row(item: JSON) -> list[str]:
    fields = item["extraction"] or {}
    reason = item["skip_reason"] or item["review_reason"] or ""
    supplier, number = fields.get("supplier_name") or "", fields.get("invoice_number") or ""
    file = item["source_metadata"]["attachment_filename"] or ""
    return [item["id"], item["status"], reason, supplier, number, format_total(fields), str(item["version"]), file]
