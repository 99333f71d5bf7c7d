"""How long a page of `GET /documents` takes with ten million documents, by filter.

    python -m bench.search [--documents 10000000] [--rounds 20] [--folder /var/tmp/search]

A Postgres of its own with the tables of ingestion, filled by SQL: one tenant has all these documents, and 5,000 others
share a tenth as many. For each filter the page of the API is read, with what a person may well ask for: few that match,
many, and none. Beside each stand p50 and p95 as ratios to one document by its id in the same run, and the indexes of
the plans. Then come the sizes of the indexes, and what it costs to insert a document. Ends with 1 where a plan goes
through a whole table or sorts a tenant, or a page takes more than a second.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
from bench.search.filled_tables import BIG_TENANT, FIND_ID, SMALL_TENANTS, configure_server, fill_tables, open_database
from bench.search.index_costs import print_insert_costs, print_sizes
from bench.search.questions import Question, list_questions

from ingestion.adapters.document_search import build_search, build_selection, has_words
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.reviews import PgReviews
from ingestion.adapters.word_search import find_word_matches
from mailroom_common.postgres import open_pool

LONGEST_MS = 1000.0  # as `word_search` has it; the last step may take as long again
MAX_SORTED = 262_144  # rows: what a word search may have in one step


class RecordingSession:
    """Passes statements on and keeps them, so that each can be explained."""

    def __init__(self, conn: asyncpg.Connection) -> None:
        self._conn = conn
        self.statements: list[tuple[str, list[Any]]] = []

    async def fetch(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        self.statements.append((statement, list(values)))
        rows: list[asyncpg.Record] = await self._conn.fetch(statement, *values)
        return rows


async def list_statements(conn: asyncpg.Connection, question: Question) -> list[tuple[str, list[Any]]]:
    """What a page runs, as `PgDocumentCatalog.list_documents` does."""
    wanted, before, limit = question.wanted, question.before, question.limit
    if not has_words(wanted):
        return [build_search(question.tenant_id, wanted, before=before, limit=limit + 1)]
    recording: Any = RecordingSession(conn)
    matches = await find_word_matches(recording, question.tenant_id, wanted, before=before, limit=limit)
    assert matches is not None  # all words of this table have their places
    statements: list[tuple[str, list[Any]]] = recording.statements
    return [*statements, build_selection(question.tenant_id, matches.positions)]


async def explain(conn: asyncpg.Connection, statement: str, values: list[Any]) -> dict[str, Any]:
    text = await conn.fetchval(f"explain (analyze, buffers, format json) {statement}", *values)
    (plan,) = json.loads(text) if isinstance(text, str) else text
    found: dict[str, Any] = plan["Plan"]
    return found


def list_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from list_nodes(inner)


@dataclass(frozen=True, slots=True)
class Cost:
    """`blocks` of 8 KB that were looked at, in memory or not: the same on a busy machine as on an idle one."""

    statements: int
    blocks: int
    indexes: set[str]
    faults: set[str]


async def read_plans(conn: asyncpg.Connection, statements: list[tuple[str, list[Any]]]) -> Cost:
    plans = [await explain(conn, statement, values) for statement, values in statements]
    nodes = [node for plan in plans for node in list_nodes(plan)]
    scans = {f"ALL OF {node['Relation Name']}" for node in nodes if node["Node Type"] == "Seq Scan"}
    sorted_rows = [plan["Actual Rows"] for node in nodes if node["Node Type"] == "Sort" for plan in node["Plans"]]
    sorts = {f"SORT OF {rows:.0f}" for rows in sorted_rows if rows > MAX_SORTED}
    return Cost(
        statements=len(statements),
        blocks=sum(int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]) for plan in plans),
        indexes={node["Index Name"].removeprefix("document_") for node in nodes if "Index Name" in node},
        faults=scans | sorts,
    )


Call = Callable[[], Awaitable[Any]]


async def time_call(call: Call, yardstick: Call, rounds: int) -> tuple[float, float, float, Any]:
    """p50 of the yardstick in milliseconds, p50 and p95 of the call as ratios to it, and the last answer.

    In turns, so that other work on the machine makes both slower. The first round fills the memory.
    """
    of_call: list[float] = []
    of_yardstick: list[float] = []
    for _ in range(rounds + 1):
        for times, timed in ((of_yardstick, yardstick), (of_call, call)):
            began = time.perf_counter()
            answer = await timed()
            times.append((time.perf_counter() - began) * 1000)
    ordered, one_ms = sorted(of_call[1:]), median(of_yardstick[1:])
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return one_ms, median(ordered) / one_ms, p95 / one_ms, answer


async def measure(pool: asyncpg.Pool, conn: asyncpg.Connection, documents: int, rounds: int) -> bool:
    """False where a plan is none that may stay."""
    catalog, is_good = PgDocumentCatalog(pool), True
    document_id = await conn.fetchval(FIND_ID)
    one = partial(catalog.find_document, BIG_TENANT, document_id)
    outbox: Any = None  # of decisions; none is made
    reviews = PgReviews(pool, outbox, lambda: datetime.now(UTC))
    history = partial(reviews.list_history, BIG_TENANT, document_id, before=None, limit=100)
    one_ms, p50, p95, _ = await time_call(history, one, rounds)
    print(f"one document by its id: {one_ms:.2f} ms; the ratios are to it, each time in turns with it")
    print(f"its versions: {p50:.1f} {p95:.1f}")
    print(f"{'page':32} {'rows':>4} {'p50':>7} {'p95':>7} {'statements':>10} {'blocks':>7}  indexes")
    for question in list_questions(documents):
        cost = await read_plans(conn, await list_statements(conn, question))
        page = partial(
            catalog.list_documents, question.tenant_id, question.wanted, before=question.before, limit=question.limit
        )
        one_ms, p50, p95, (rows, rest) = await time_call(page, one, rounds)
        is_good = is_good and not cost.faults and p50 * one_ms <= LONGEST_MS * 2
        said = ", ".join([*sorted(cost.indexes - {"by_key_in_order"}), *sorted(cost.faults)])
        more = "+" if rest is not None else " "
        numbers = f"{p50:7.1f} {p95:7.1f} {cost.statements:10} {cost.blocks:7}"
        print(f"{question.name:32} {len(rows):3}{more} {numbers}  {said}", flush=True)
    return is_good


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000_000, help="of the big tenant")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep the tables there, and take them as they are when they are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mailroom-search-") as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # Postgres may have to run as nobody, who must be able to come here
        if not (folder / "filled").exists():
            await configure_server(folder)
            # Not durable only here: ten million rows are to be written first.
            async with open_database(folder, is_durable=False) as (_, conn):
                await fill_tables(conn, options.documents)
            (folder / "filled").touch()
        async with open_database(folder, is_durable=True) as (url, conn):
            print(f"{options.documents:,} documents of the tenant, a tenth as many of {SMALL_TENANTS:,} others")
            async with open_pool(url, application_name="bench") as pool:
                is_good = await measure(pool, conn, options.documents, options.rounds)
            await print_sizes(conn)
            await print_insert_costs(conn, options.documents)
            print(f"load average {os.getloadavg()[0]:.1f}")
            return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
