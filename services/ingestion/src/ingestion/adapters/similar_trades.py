"""The trades of a tenant that are judged together, as they are in Postgres: under the lock of its ledger."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ingestion.domain.ledger_entry import LedgerEntry
from ingestion.domain.trade import read_stored_trade
from ingestion.domain.trade_ledger import MAX_COMPARED, TradeJudgement, TradeState, judge_trades
from ingestion.domain.trade_matching import find_reference
from mailroom_common.postgres import DatabaseSession

_T = TypeVar("_T")

_LIST_SIMILAR = """
    select candidate.* from unnest($2::text[]) as wanted(match_key) cross join lateral (
        select * from ingestion.trade
        where trade.tenant_id = $1 and trade.match_key = wanted.match_key
        order by confirmed_seq, seq limit $3
    ) as candidate
"""
# Of a key with more than that: the trades of one document, and the first of those that people have decided about. The
# ledger is locked meanwhile: a key may have a hundred thousand trades, and a tenant as many decisions.
_LIST_LATER = """
    select * from ingestion.trade
    where trade_id = any(array(
              select trade_id from ingestion.trade where document_id = $3
              union all
              select decided.trade_id from unnest($2::text[]) as wanted(match_key) cross join lateral (
                  select trade_id from ingestion.trade
                  where trade.tenant_id = $1 and trade.match_key = wanted.match_key and is_decided
                    and not trade_id = any($4)
                  order by confirmed_seq, seq limit $5
              ) as decided))
      and tenant_id = $1 and match_key = any($2) and not trade_id = any($4)
    order by confirmed_seq, seq limit $5
"""
# The keys of trades that a cancellation names, and of cancellations that name a trade: by the letters and digits of the
# number, as `compact_text` has them in every locale. One number may be that of many: of a savings plan, say.
FOLDED_REFERENCE = "upper(regexp_replace(left(fields ->> 'reference', 200), '[^A-Za-z0-9]', '', 'g') collate \"C\")"
_LIST_NAMED = f"""
    select distinct wanted.reference, wanted.is_cancellation, linked.match_key
    from unnest($2::text[], $3::boolean[]) as wanted(reference, is_cancellation)
    cross join lateral (
        select match_key from ingestion.trade
        where tenant_id = $1 and {FOLDED_REFERENCE} = wanted.reference
          and trade.is_cancellation = wanted.is_cancellation
        order by seq limit $4
    ) as linked
"""  # noqa: S608  # of our own words only
# Those that people decided about: of a cancellation what it takes back, and the other way round.
_LIST_DECIDED = """
    select distinct match_key from ingestion.trade
    where tenant_id = $1 and (trade_id = any($2) or (trade_id = any($3) and is_cancellation))
"""
_COUNT_SIMILAR = """
    select wanted.match_key, (
        select count(*) from (select from ingestion.trade
                              where trade.tenant_id = $1 and trade.match_key = wanted.match_key limit $3) as counted
    ) as trades
    from unnest($2::text[]) as wanted(match_key)
"""
LIST_DECISIONS = """
    select trade_id, other_trade_id, decision from ingestion.trade_decision
    where trade_id = any($1) or other_trade_id = any($1) order by entry_id
"""
_MAX_SIMILAR_READ = 2 * MAX_COMPARED
_MAX_STATED_READ = 10_000  # trades of all keys of one document
_LEAST_SIMILAR_READ = 20
_MAX_ON_LOOP = 50
_MAX_LINKED_KEYS = 50  # beside those that are judged
_MAX_LINKED_READ = 2 * _MAX_SIMILAR_READ  # trades of these keys: all are judged under the lock of the ledger
_MAX_NAMED = 200  # trades of one number


@dataclass(slots=True)
class SimilarTrades:
    """Statements that are judged together: of some keys, and of all that cancellations bring together with them."""

    keys: set[str]
    entries: list[LedgerEntry]
    former: dict[str, TradeJudgement] = field(default_factory=dict)  # as they were judged before
    # Read beside the first ones of a key that has more: which of the others they are like is not known.
    later_ids: set[str] = field(default_factory=set)

    def list_unread_counterparts(self) -> dict[str, str]:
        """Of each trade that was judged with one that is not among these: that one's id."""
        known = {entry.trade_id for entry in self.entries}
        found = {trade_id: former.cancelled_by or former.cancels for trade_id, former in self.former.items()}
        return {trade_id: other for trade_id, other in found.items() if other is not None and other not in known}


async def read_similar_trades(
    conn: DatabaseSession,
    tenant_id: str,
    match_keys: Iterable[str],
    document_id: str | None = None,
    beside: Sequence[LedgerEntry] = (),
) -> SimilarTrades:
    """Those with one of the keys, and those that a number or a decision brings together with a cancellation among them,
    from one to the next. `document_id`: its trades are read however many others there are; `beside` are entries that
    are not in the ledger yet."""
    similar = SimilarTrades(set(), [])
    wanted = set(match_keys)
    limit, left = len(wanted) + _MAX_LINKED_KEYS, _MAX_LINKED_READ
    most = await _choose_most_of_key(conn, tenant_id, wanted)
    while wanted:
        similar.keys |= wanted
        rows, later = await _list_similar_rows(conn, tenant_id, wanted, document_id, most)
        similar.later_ids |= {row["trade_id"] for row in later}
        rows += later
        decisions = await conn.fetch(LIST_DECISIONS, [row["trade_id"] for row in rows])
        entries, former = await run_off_loop(len(rows), _read_entries, rows, decisions)
        similar.entries += entries
        similar.former |= former
        links, decided = await _list_linked_keys(conn, tenant_id, [*entries, *beside])
        # What the document itself names is never left for what others name.
        own = {entry.trade_id for entry in entries if entry.document_id == document_id}
        own |= {entry.trade_id for entry in beside}
        nearest = set[str]().union(decided, *(links.get(trade_id, ()) for trade_id in own)) - similar.keys
        further = set[str]().union(*links.values()) - similar.keys - nearest
        ordered = [*sorted(nearest), *sorted(further)][: limit - len(similar.keys)]
        wanted, left = await _choose_keys(conn, tenant_id, ordered, left)
    return similar


async def _choose_most_of_key(conn: DatabaseSession, tenant_id: str, keys: Collection[str]) -> int:
    """How many trades of one key are read: of two hundred keys that a sender has stated again and again not all, since
    all are judged under the lock of the ledger."""
    if len(keys) * _MAX_SIMILAR_READ <= _MAX_STATED_READ:
        return _MAX_SIMILAR_READ
    rows = await conn.fetch(_COUNT_SIMILAR, tenant_id, sorted(keys), _MAX_SIMILAR_READ)
    if sum(row["trades"] for row in rows) <= _MAX_STATED_READ:
        return _MAX_SIMILAR_READ
    return max(_LEAST_SIMILAR_READ, _MAX_STATED_READ // len(keys))


async def _choose_keys(
    conn: DatabaseSession, tenant_id: str, ordered: Sequence[str], left: int
) -> tuple[set[str], int]:
    """As many as have no more trades than are left to be read, and how many are left then."""
    chosen: set[str] = set()
    rows = await conn.fetch(_COUNT_SIMILAR, tenant_id, ordered, _MAX_SIMILAR_READ) if ordered else []
    counts = {row["match_key"]: row["trades"] for row in rows}
    for key in ordered:
        if counts[key] <= left:
            chosen.add(key)
            left -= counts[key]
    return chosen, left


async def _list_linked_keys(
    conn: DatabaseSession, tenant_id: str, entries: Sequence[LedgerEntry]
) -> tuple[dict[str, set[str]], set[str]]:
    """Of each trade the keys that its number leads to, and the keys that decisions lead to."""
    named = {
        entry.trade_id: (reference, not entry.trade.is_cancellation)
        for entry in entries
        if (reference := find_reference(entry.trade)) is not None
    }
    pairs = sorted(set(named.values()))
    columns = [reference for reference, _ in pairs], [is_cancellation for _, is_cancellation in pairs]
    found: dict[tuple[str, bool], set[str]] = {}
    for row in await conn.fetch(_LIST_NAMED, tenant_id, *columns, _MAX_NAMED) if pairs else []:
        found.setdefault((row["reference"], row["is_cancellation"]), set()).add(row["match_key"])
    decided: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in entries:
        decided[entry.trade.is_cancellation] |= entry.same_as | entry.distinct_from
    rows = []
    if any(decided.values()):
        rows = await conn.fetch(_LIST_DECIDED, tenant_id, list(decided[True]), list(decided[False]))
    links = {trade_id: found[pair] for trade_id, pair in named.items() if pair in found}
    return links, {row["match_key"] for row in rows}


async def judge_entries(entries: Sequence[LedgerEntry], later_ids: Collection[str] = ()) -> dict[str, TradeJudgement]:
    return await run_off_loop(len(entries), judge_trades, entries, later_ids)


async def run_off_loop(trades: int, work: Callable[..., _T], *values: Any) -> _T:
    """A second of work where very many are similar: leases are renewed and other documents finished meanwhile."""
    if trades > _MAX_ON_LOOP:
        return await asyncio.to_thread(work, *values)
    return work(*values)


async def _list_similar_rows(
    conn: DatabaseSession, tenant_id: str, match_keys: Iterable[str], document_id: str | None, most: int
) -> tuple[list[Any], list[Any]]:
    """Of a key that very many trades have (a sender may state as many as he likes) those that are there first; and
    later ones, those of the document and those that people have decided about: none of these may wait for ever without
    a state of its own."""
    rows = list(await conn.fetch(_LIST_SIMILAR, tenant_id, sorted(match_keys), most))
    counts = Counter(row["match_key"] for row in rows)
    full = [key for key, count in counts.items() if count >= most]
    if not full:
        return rows, []
    known = [row["trade_id"] for row in rows if row["match_key"] in full]
    return rows, list(await conn.fetch(_LIST_LATER, tenant_id, full, document_id, known, _MAX_SIMILAR_READ))


def read_decisions(rows: Iterable[Any]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Whichever of the two a decision was made about, and the newest of a pair."""
    newest = {frozenset((row["trade_id"], row["other_trade_id"])): row["decision"] for row in rows}
    same: dict[str, set[str]] = {}
    distinct: dict[str, set[str]] = {}
    for pair, decision in newest.items():
        for trade_id in pair:
            (same if decision == "same" else distinct).setdefault(trade_id, set()).update(pair - {trade_id})
    return same, distinct


def _read_entries(rows: Sequence[Any], decisions: Sequence[Any]) -> tuple[list[LedgerEntry], dict[str, TradeJudgement]]:
    """Each row, and what it was judged to be."""
    same, distinct = read_decisions(decisions)
    entries = [_read_entry(row, same, distinct) for row in rows]
    return entries, {row["trade_id"]: _read_judgement(row) for row in rows}


def _read_entry(row: Any, same: Mapping[str, set[str]], distinct: Mapping[str, set[str]]) -> LedgerEntry:
    return LedgerEntry(
        trade=read_stored_trade(row["fields"]),
        document_type=row["document_type"],
        content_sha256=row["content_sha256"],
        trade_id=row["trade_id"],
        document_id=row["document_id"],
        seq=row["seq"],
        confirmed_seq=row["confirmed_seq"],
        same_as=frozenset(same.get(row["trade_id"], ())),
        distinct_from=frozenset(distinct.get(row["trade_id"], ())),
    )


def _read_judgement(row: Any) -> TradeJudgement:
    return TradeJudgement(TradeState(row["state"]), row["duplicate_of"], row["cancelled_by"], row["cancels"])
