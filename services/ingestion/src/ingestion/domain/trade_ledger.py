"""Which trades count, of all that the documents of a tenant state: each once, and none that was taken back.

Each judgement follows from the set of statements and from the order in which they were confirmed. So whoever adds a
statement judges all similar ones again, and a cancellation may come before its trade.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingestion.domain.ledger_entry import LedgerEntry, StatementGroup, are_decided_distinct, are_decided_same
from ingestion.domain.trade import Trade
from ingestion.domain.trade_cancellations import Corrections, match_cancellations
from ingestion.domain.trade_matching import Similarity, build_match_key, compare_trades

# Of one security with one match key; each is compared with all before it.
MAX_SIMILAR = 200
MAX_COMPARED = 1000
"""Of all securities with one match key. A day has thousands of trades of the same quantity where a tenant has thousands
of mailboxes."""


class TradeState(StrEnum):
    """What a trade of a document is in the ledger. `counted` ones are what is to be booked: each trade once."""

    COUNTED = "counted"  # confirmed, and the first statement of its trade
    UNCONFIRMED = "unconfirmed"  # its document waits for a person
    DUPLICATE = "duplicate"  # another document states this trade, and that one counts
    POSSIBLE_DUPLICATE = "possible_duplicate"  # perhaps so; it counts once a person says that it is another trade
    CANCELLED = "cancelled"  # a confirmed document takes it back
    POSSIBLY_CANCELLED = "possibly_cancelled"  # perhaps so: that document waits for a person, or may mean another trade
    CANCELLATION = "cancellation"  # takes a trade back, which is known
    CANCELLATION_UNMATCHED = "cancellation_unmatched"  # takes a trade back which is not known yet, or one of several


@dataclass(frozen=True, slots=True)
class TradeJudgement:
    """`duplicate_of` and `cancelled_by` are other entries; `cancels` is the trade that a cancellation takes back."""

    state: TradeState
    duplicate_of: str | None = None
    cancelled_by: str | None = None
    cancels: str | None = None


def judge_trades(entries: Iterable[LedgerEntry], later_ids: Collection[str] = ()) -> dict[str, TradeJudgement]:
    """The judgement of each entry, by its id. `entries` are all of a tenant with one `build_match_key`, or with several
    that cancellations bring together: a corrected note may have another quantity than the one that it takes back.

    Beyond `MAX_SIMILAR` of a security they are possible duplicates of its first one, which a person has to tell apart,
    and so are `later_ids`: there are some between them and the others of their key that are not among `entries`, and
    one of these may state the same trade. Those that a person has decided about are compared, as many again.
    """
    by_key: dict[str, list[LedgerEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.rank):
        by_key.setdefault(build_match_key(entry.trade), []).append(entry)
    corrections = Corrections(entry for ranked in by_key.values() for entry in ranked)
    trades: list[StatementGroup] = []
    cancellations: list[StatementGroup] = []
    judgements: dict[str, TradeJudgement] = {}
    for key, ranked in by_key.items():
        compared, others = _choose_compared(ranked, later_ids)
        trades += _group_entries(key, [entry for entry in compared if not entry.trade.is_cancellation], corrections)
        cancellations += _group_entries(key, [entry for entry in compared if entry.trade.is_cancellation], corrections)
        firsts = {entry.isin: entry for entry in reversed(compared)}
        judgements |= {entry.trade_id: _judge_uncompared(entry, firsts.get(entry.isin, ranked[0])) for entry in others}
    matches = match_cancellations(cancellations, trades, corrections)
    for place, group in enumerate(trades):
        judgements |= _judge_group(group, matches.by_trade.get(place, ()), matches.unclear.get(place))
    for group in cancellations:
        taken, primary = matches.find_taken(group)
        judgements |= _judge_cancellation(group, None if taken is None else trades[taken].first, primary)
    return judgements


def _choose_compared(
    ranked: Sequence[LedgerEntry], later_ids: Collection[str]
) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """Those that are compared with each other, and the others. Many trades of one security keep none of another out."""
    compared: list[LedgerEntry] = []
    others: list[LedgerEntry] = []
    counts = Counter[str | None]()
    for entry in ranked:
        isin = entry.isin
        counts[isin] += 1
        is_within = counts[isin] <= MAX_SIMILAR and len(compared) < MAX_COMPARED and entry.trade_id not in later_ids
        (compared if is_within else others).append(entry)
    decided = [entry for entry in others if entry.same_as or entry.distinct_from][:MAX_SIMILAR]
    decided_ids = {entry.trade_id for entry in decided}
    return compared + decided, [entry for entry in others if entry.trade_id not in decided_ids]


def _group_entries(key: str, ranked: Iterable[LedgerEntry], corrections: Corrections) -> list[StatementGroup]:
    groups: list[StatementGroup] = []
    for entry in ranked:
        best, similarity = None, Similarity.DIFFERENT
        isin = entry.isin
        for group in groups:
            if not entry.same_as and isin is not None and isin not in group.isins and group.isins != {None}:
                continue  # of another security: nothing else is to be compared
            # The first of those that are equally similar: two notes and a statement without references stay two trades.
            if (found := _compare_with_group(entry, group, corrections)) > similarity:
                best, similarity = group, found
        if best is None:
            groups.append(StatementGroup(key))
            groups[-1].add(entry)
        else:
            best.add(entry, similarity)
    return groups


def _compare_with_group(entry: LedgerEntry, group: StatementGroup, corrections: Corrections) -> Similarity:
    """Different where one of the group contradicts: a statement without a reference makes no one trade of two notes."""
    if any(are_decided_distinct(entry, member) for member in group.members):
        return Similarity.DIFFERENT
    if any(are_decided_same(entry, member) for member in group.members):
        return Similarity.CERTAIN
    if any(entry.document_id == member.document_id for member in group.members):
        return Similarity.DIFFERENT  # a document that lists a trade twice has two: partial executions
    if any(corrections.are_old_and_new(entry, member) for member in group.members):
        return Similarity.DIFFERENT
    found = [(compare_trades(entry, member), member) for member in group.members]
    if any(similarity is Similarity.DIFFERENT for similarity, _ in found):
        return Similarity.DIFFERENT
    is_certain = any(
        similarity is Similarity.CERTAIN
        and group.similarity.get(member.trade_id, Similarity.CERTAIN) is Similarity.CERTAIN
        for similarity, member in found
    )
    return Similarity.CERTAIN if is_certain else Similarity.POSSIBLE


def _judge_group(
    group: StatementGroup, cancellations: Sequence[StatementGroup], unclear: StatementGroup | None
) -> dict[str, TradeJudgement]:
    sure = [cancellation for cancellation in cancellations if cancellation.first.is_confirmed]
    by = next(iter([*sure, *cancellations]), unclear)
    cancelled_by = None if by is None else by.first.trade_id
    if not group.first.is_confirmed:
        state = TradeState.UNCONFIRMED
    elif by is None:
        state = TradeState.COUNTED
    else:
        state = TradeState.CANCELLED if sure else TradeState.POSSIBLY_CANCELLED
    judgements = {group.first.trade_id: TradeJudgement(state, cancelled_by=cancelled_by)}
    for member in group.members[1:]:
        is_certain = group.similarity[member.trade_id] is Similarity.CERTAIN
        state = TradeState.DUPLICATE if is_certain else TradeState.POSSIBLE_DUPLICATE
        judgements[member.trade_id] = TradeJudgement(
            state if member.is_confirmed else TradeState.UNCONFIRMED, duplicate_of=group.first.trade_id
        )
    return judgements


def _judge_cancellation(
    group: StatementGroup, taken: LedgerEntry | None, primary: StatementGroup
) -> dict[str, TradeJudgement]:
    """`primary` takes that trade back already, where it is another one."""
    state = TradeState.CANCELLATION_UNMATCHED if taken is None else TradeState.CANCELLATION
    cancels = None if taken is None else taken.trade_id
    first = primary.first.trade_id
    return {
        member.trade_id: TradeJudgement(
            state, duplicate_of=None if member.trade_id == first else first, cancels=cancels
        )
        for member in group.members
    }


def _judge_uncompared(entry: LedgerEntry, first: LedgerEntry) -> TradeJudgement:
    if entry.trade.is_cancellation:
        return TradeJudgement(TradeState.CANCELLATION_UNMATCHED)
    state = TradeState.POSSIBLE_DUPLICATE if entry.is_confirmed else TradeState.UNCONFIRMED
    return TradeJudgement(state, duplicate_of=first.trade_id)


def align_trades(known: Sequence[tuple[str, Trade]], stated: Sequence[Trade]) -> list[str | None]:
    """For each trade that a document states now, the id that it had when the document was read or corrected before;
    None for a new one. The same in every field first, then the same in what identifies it, then by their order."""
    found: list[str | None] = [None] * len(stated)
    left = dict(known)
    for build_key in (_key_by_all_fields, _key_by_identity, _key_by_order):
        waiting = defaultdict[Hashable, deque[str]](deque)
        for trade_id, trade in left.items():
            waiting[build_key(trade)].append(trade_id)
        for place, trade in enumerate(stated):
            if found[place] is None and (alike := waiting[build_key(trade)]):
                trade_id = alike.popleft()
                found[place] = trade_id
                del left[trade_id]
    return found


def _key_by_all_fields(trade: Trade) -> Hashable:
    return trade


def _key_by_identity(trade: Trade) -> Hashable:
    return trade.is_cancellation, build_match_key(trade)


def _key_by_order(_trade: Trade) -> Hashable:
    return None
