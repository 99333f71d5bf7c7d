"""`mailroom trades`: the trades that documents state, and which of them count, through ingestion's API."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mailroom_cli.export_files import FileKind, refuse_terminal, write_export
from mailroom_cli.money import join_money
from mailroom_cli.options import AnswerAsJSON, OnlySource
from mailroom_cli.site_api import JSON, open_site_api, quote_segment
from mailroom_cli.source_views import MAX_LISTED, find_source_id, note_limit, print_columns, print_json
from mailroom_cli.terminal import print_line

app = typer.Typer(
    name="trades", no_args_is_help=True, help="Trades of contract notes and statements: each counts once."
)

TradeId = Annotated[str, typer.Argument(metavar="ID", help="As `mailroom trades list` shows it.")]
OnlyState = Annotated[
    str | None,
    typer.Option(
        "--state",
        help="counted, unconfirmed, duplicate, possible_duplicate, cancelled, possibly_cancelled, cancellation or "
        "cancellation_unmatched.",
    ),
]
OnlyDocument = Annotated[str | None, typer.Option("--document", help="Id of the document that states them.")]
OnlyISIN = Annotated[str | None, typer.Option("--isin")]

_LIST_EXAMPLES = """Examples:

  mailroom trades list --state possible_duplicate

  mailroom trades list --isin DE0008404005 --json
"""
_SHOW_EXAMPLES = """Examples:

  mailroom trades show 2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11
"""
_DECIDE_EXAMPLES = """Examples:

  mailroom trades decide 2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11 distinct --comment "two orders of one day"

  mailroom trades decide 2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11 same --other 0f6b0a3e-35a8-4f0c-8c0e-6f0a86a5c9d4
"""
_EXPORT_EXAMPLES = """Examples:

  mailroom trades export > trades.csv

  mailroom trades export --state cancelled --format jsonl -o cancelled.jsonl
"""


class Verdict(StrEnum):
    SAME = "same"  # one trade; of a cancellation: what it takes back
    DISTINCT = "distinct"  # two trades


@app.command("list", epilog=_LIST_EXAMPLES)
def list_trades(
    state: OnlyState = None,
    source: OnlySource = None,
    document: OnlyDocument = None,
    isin: OnlyISIN = None,
    as_json: AnswerAsJSON = False,
) -> None:
    """Show the newest trades that match."""
    query = {"state": state, "document_id": document, "isin": isin}
    with open_site_api() as api:
        given = {name: value for name, value in query.items() if value is not None}
        given |= {} if source is None else {"doc_source_id": find_source_id(api, source)}
        items = api.list_items("/trades", given, most=MAX_LISTED)
    note_limit(items, MAX_LISTED, "`mailroom trades export --state …` has all of a state")
    if as_json:
        print_json(items)
        return
    head = ["ID", "STATE", "DATE", "SIDE", "QUANTITY", "SECURITY", "PRICE", "SETTLED", "SEE", "VERSION"]
    print_columns(head, [_build_row(item) for item in items])


@app.command("show", epilog=_SHOW_EXAMPLES)
def show_trade(trade_id: TradeId) -> None:
    """Show a trade as JSON, with all statements of it and what was decided about them."""
    with open_site_api() as api:
        print_json(api.call("GET", f"/trades/{quote_segment(trade_id)}"))


@app.command("decide", epilog=_DECIDE_EXAMPLES)
def decide_trade(
    trade_id: TradeId,
    decision: Annotated[Verdict, typer.Argument(help="same: one trade, or what is taken back; distinct: two trades.")],
    other: Annotated[str | None, typer.Option(help="The other trade; by default the one that SEE shows.")] = None,
    version: Annotated[int | None, typer.Option(help="The version that you saw.")] = None,
    comment: Annotated[str | None, typer.Option(help="Kept with the decision.")] = None,
    reviewer: Annotated[str | None, typer.Option(help="Who decides; kept with the decision.")] = None,
) -> None:
    """Decide whether two trades of the ledger are one trade."""
    options = {"other_trade_id": other, "comment": comment, "reviewer": reviewer}
    body: JSON = {"decision": decision.value, **{name: value for name, value in options.items() if value is not None}}
    with open_site_api() as api:
        trade = api.post_decision(f"/trades/{quote_segment(trade_id)}", "decision", body, version)
    print_line(f"{trade['state']}, version {trade['version']}")


@app.command("export", epilog=_EXPORT_EXAMPLES)
def export_trades(
    state: OnlyState = None,
    export_format: Annotated[FileKind, typer.Option("--format")] = FileKind.CSV,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; standard output otherwise.")] = None,
) -> None:
    """The trades that count, or those of a state, as CSV or JSON Lines."""
    refuse_terminal(output)
    query = {"format": export_format.value, **({} if state is None else {"state": state})}
    with open_site_api() as api:
        write_export(api.stream_content("/trades/export", query), output)


def _build_row(item: JSON) -> list[str]:
    trade = item["trade"]
    security = trade["isin"] or trade["wkn"] or trade["ticker"] or trade["security_name"] or ""
    settled = join_money(trade["settled_amount"], trade["currency"])
    see = item["duplicate_of"] or item["cancels"] or item["cancelled_by"] or ""
    values = [trade["trade_date"], trade["direction"], trade["quantity"], security, trade["price"], settled, see]
    return [item["id"], item["state"], *(value or "" for value in values), str(item["version"])]
