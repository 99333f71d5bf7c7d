"""`mailroom orders`: pending orders, and which trades executed them, through ingestion's API."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mailroom_cli.money import join_money
from mailroom_cli.site_api import JSON, open_site_api, quote_segment
from mailroom_cli.source_views import MAX_LISTED, note_limit, print_columns, print_json
from mailroom_cli.terminal import print_line
from mailroom_common.errors import Rejected

app = typer.Typer(name="orders", no_args_is_help=True, help="Pending orders, and the trades that executed them.")

OrderId = Annotated[str, typer.Argument(metavar="ID", help="As `mailroom orders list` shows it.")]
AsJSON = Annotated[bool, typer.Option("--json", help="The answer of the API as JSON.")]

_IMPORT_EXAMPLES = """Examples:

  mailroom orders import orders.csv

  some-program | mailroom orders import - --json

The first line has the names of the columns: external_id, direction (buy or sell), quantity and ordered_on (2026-04-01)
are needed, and isin, wkn or ticker; account, limit_price, currency and valid_until may be there. All orders are stored,
or none; an external_id that is there already is the same order.
"""
_LIST_EXAMPLES = """Examples:

  mailroom orders list --state partial

  mailroom orders list --isin DE0008404005 --json
"""
_SHOW_EXAMPLES = """Examples:

  mailroom orders show 5a3c2f0e-9b7d-4c55-8c1e-2f9d6b1a7e42
"""
_DELETE_EXAMPLES = """Examples:

  mailroom orders delete 5a3c2f0e-9b7d-4c55-8c1e-2f9d6b1a7e42
"""
_UNMATCHED_EXAMPLES = """Examples:

  mailroom orders unmatched

  mailroom orders unmatched --json
"""
_LINK_EXAMPLES = """Examples:

  mailroom orders link 2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11 5a3c2f0e-9b7d-4c55-8c1e-2f9d6b1a7e42

  mailroom orders link 2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11 --by-rules
"""


@app.command("import", epilog=_IMPORT_EXAMPLES)
def import_orders(
    file: Annotated[Path, typer.Argument(help="A CSV file; - is standard input.", allow_dash=True)],
    as_json: AsJSON = False,
) -> None:
    """Store the pending orders of a CSV file."""
    content = sys.stdin.buffer.read() if str(file) == "-" else _read_file(file)
    with open_site_api() as api:
        try:
            answer = api.call("POST", "/pending-orders", content=content, headers={"Content-Type": "text/csv"})
        except Rejected as error:
            raise Rejected(f"{file}: {error}") from error
    if as_json:
        print_json(answer)
        return
    print_line(f"{answer['created']} new, {answer['updated']} changed, {answer['unchanged']} unchanged")


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}") from error


@app.command("list", epilog=_LIST_EXAMPLES)
def list_orders(
    state: Annotated[str | None, typer.Option(help="unmatched, partial or filled.")] = None,
    isin: Annotated[str | None, typer.Option("--isin")] = None,
    as_json: AsJSON = False,
) -> None:
    """Show the newest pending orders that match."""
    query = {name: value for name, value in {"state": state, "isin": isin}.items() if value is not None}
    with open_site_api() as api:
        items = api.list_items("/pending-orders", query, most=MAX_LISTED)
    note_limit(items, MAX_LISTED, "--state and --isin narrow them")
    if as_json:
        print_json(items)
    else:
        _print_orders(items)


@app.command("show", epilog=_SHOW_EXAMPLES)
def show_order(order_id: OrderId) -> None:
    """Show a pending order as JSON, with the ids of its trades."""
    with open_site_api() as api:
        print_json(api.call("GET", f"/pending-orders/{quote_segment(order_id)}"))


@app.command("unmatched", epilog=_UNMATCHED_EXAMPLES)
def list_unmatched(as_json: AsJSON = False) -> None:
    """Show orders that no trade executed, and trades of which no order is known, or one of several."""
    # A script gets all of them: what is missing here would look as if it were matched.
    most = None if as_json else MAX_LISTED
    with open_site_api() as api:
        found = {
            "orders": api.list_items("/pending-orders", {"state": "unmatched"}, most=most),
            "trades": [
                trade
                for match in ("unmatched", "ambiguous")
                for trade in api.list_items("/trades", {"order_match": match}, most=most)
            ],
        }
    if as_json:
        print_json(found)
        return
    print_line("Orders without a trade:")
    _print_orders(found["orders"])
    print_line()
    print_line("Trades without an order:")
    head = ["ID", "DATE", "SIDE", "QUANTITY", "SECURITY", "PRICE", "MAY BE OF", "VERSION"]
    print_columns(head, [_build_trade_row(trade) for trade in found["trades"]])
    for listed in found.values():
        note_limit(listed, MAX_LISTED, "`mailroom orders unmatched --json` has all of them")


@app.command("link", epilog=_LINK_EXAMPLES)
def link_order(
    trade_id: Annotated[str, typer.Argument(metavar="TRADE", help="As `mailroom orders unmatched` shows it.")],
    order_id: Annotated[str | None, typer.Argument(metavar="[ORDER]", help="Id of the pending order.")] = None,
    by_rules: Annotated[
        bool, typer.Option("--by-rules", help="Withdraw a decision: the rules find the order.")
    ] = False,
    version: Annotated[int | None, typer.Option(help="The version of the trade that you saw.")] = None,
) -> None:
    """Say which order a trade executed."""
    if (order_id is None) != by_rules:
        raise typer.BadParameter("an ORDER is needed, or --by-rules")
    with open_site_api() as api:
        trade = api.post_decision(f"/trades/{quote_segment(trade_id)}", "order", {"order_id": order_id}, version)
    if by_rules:
        print_line(f"the decision is withdrawn, and the rules look for the order; version {trade['version']}")
        return
    print_line(f"{trade['order_match']}, version {trade['version']}")


@app.command("delete", epilog=_DELETE_EXAMPLES)
def delete_order(order_id: OrderId) -> None:
    """Take a pending order away; its trades stay."""
    with open_site_api() as api:
        order = api.call("DELETE", f"/pending-orders/{quote_segment(order_id)}")
    print_line(f"{order['external_id']} is deleted; it had {len(order['trades'])} trades")


def _print_orders(items: list[JSON]) -> None:
    head = ["ID", "EXTERNAL ID", "STATE", "ORDERED", "SIDE", "QUANTITY", "EXECUTED", "SECURITY", "LIMIT"]
    print_columns(head, [_build_order_row(item) for item in items])


def _build_order_row(item: JSON) -> list[str]:
    security = item["isin"] or item["wkn"] or item["ticker"] or ""
    limit = join_money(item["limit_price"], item["currency"])
    names = ("id", "external_id", "state", "ordered_on", "direction", "quantity", "executed_quantity")
    return [*(str(item[name]) for name in names), security, limit]


def _build_trade_row(item: JSON) -> list[str]:
    trade = item["trade"]
    security = trade["isin"] or trade["wkn"] or trade["ticker"] or trade["security_name"] or ""
    values = [trade["trade_date"], trade["direction"], trade["quantity"], security, trade["price"]]
    return [
        item["id"],
        *(value or "" for value in values),
        " ".join(item["order_candidates"]),
        str(item["version"]),
    ]
