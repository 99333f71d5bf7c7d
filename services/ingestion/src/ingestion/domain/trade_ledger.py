"""Which trades count, of all that the documents of a tenant state: each once, and none that was taken back.

Each judgement follows from the set of statements and from the order in which they were confirmed. So whoever adds a
statement judges all similar ones again, and a cancellation may come before its trade.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ingestion.domain.trade import CONTRACT_NOTE, Trade
from ingestion.domain.trade_matching import (
    Similarity,
    StatedTrade,
    build_match_key,
    compare_trades,
    have_same_account,
    have_same_price,
    have_same_printed_reference,
    have_same_security,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(StatedTrade):
    """A trade of a document. `confirmed_seq` is its place among confirmed ones, None where a person has still to look
    at its document; `seq` its place among all. `same_as` and `distinct_from` are other entries, as people decided: of a
    cancellation, those that it takes back, and those that it does not."""

    trade_id: str
    document_id: str
    seq: int
    confirmed_seq: int | None
    same_as: frozenset[str] = frozenset()
    distinct_from: frozenset[str] = frozenset()

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed_seq is not None

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What counts already goes on counting, whatever is read later: so confirmed ones are first."""
        return (self.confirmed_seq is None, self.confirmed_seq or 0, self.seq)


@dataclass(frozen=True, slots=True)
class TradeJudgement:
    """`duplicate_of` and `cancelled_by` are other entries; `cancels` is the trade that a cancellation takes back."""

    state: TradeState
    duplicate_of: str | None = None
    cancelled_by: str | None = None
    cancels: str | None = None


@dataclass(slots=True)
class _Group:
    """Statements of one trade. The first one counts."""

    members: list[LedgerEntry] = field(default_factory=list)
    similarity: dict[str, Similarity] = field(default_factory=dict)

    isins: set[str | None] = field(default_factory=set)  # of its members; None: one of them names none

    @property
    def first(self) -> LedgerEntry:
        return self.members[0]

    def add(self, entry: LedgerEntry, similarity: Similarity | None = None) -> None:
        """`similarity` is that to the members before it."""
        self.members.append(entry)
        self.isins.add(_find_isin(entry))
        if similarity is not None:
            self.similarity[entry.trade_id] = similarity


def judge_trades(entries: Sequence[LedgerEntry]) -> dict[str, TradeJudgement]:
    """The judgement of each entry, by its id. `entries` are all of a tenant with one `build_match_key`.

    Beyond `MAX_SIMILAR` of a security they are possible duplicates of its first one, which a person has to tell apart;
    those that a person has decided about are compared as well, as many again.
    """
    ranked = sorted(entries, key=lambda entry: entry.rank)
    compared, others = _choose_compared(ranked)
    trades = _group_entries([entry for entry in compared if not entry.trade.is_cancellation])
    cancellations = _group_entries([entry for entry in compared if entry.trade.is_cancellation])
    matched, unclear = _match_cancellations(cancellations, trades)
    judgements: dict[str, TradeJudgement] = {}
    for place, group in enumerate(trades):
        judgements |= _judge_group(group, matched.get(place), unclear.get(place))
    by_cancellation = {cancellation.first.trade_id: trades[place].first for place, cancellation in matched.items()}
    for group in cancellations:
        judgements |= _judge_cancellation(group, by_cancellation.get(group.first.trade_id))
    firsts = {_find_isin(entry): entry for entry in reversed(compared)}
    return judgements | {
        entry.trade_id: _judge_uncompared(entry, firsts.get(_find_isin(entry), ranked[0])) for entry in others
    }


def _choose_compared(ranked: Sequence[LedgerEntry]) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """Those that are compared with each other, and the others. Many trades of one security keep none of another out."""
    compared: list[LedgerEntry] = []
    others: list[LedgerEntry] = []
    counts = Counter[str | None]()
    for entry in ranked:
        isin = _find_isin(entry)
        counts[isin] += 1
        is_within = counts[isin] <= MAX_SIMILAR and len(compared) < MAX_COMPARED
        (compared if is_within else others).append(entry)
    decided = [entry for entry in others if entry.same_as or entry.distinct_from][:MAX_SIMILAR]
    decided_ids = {entry.trade_id for entry in decided}
    return compared + decided, [entry for entry in others if entry.trade_id not in decided_ids]


def _find_isin(entry: LedgerEntry) -> str | None:
    return entry.trade.isin.upper() if entry.trade.isin else None


def _group_entries(ranked: Iterable[LedgerEntry]) -> list[_Group]:
    groups: list[_Group] = []
    for entry in ranked:
        best, similarity = None, Similarity.DIFFERENT
        isin = _find_isin(entry)
        for group in groups:
            if not entry.same_as and isin is not None and isin not in group.isins and group.isins != {None}:
                continue  # of another security: nothing else is to be compared
            # The first of those that are equally similar: two notes and a statement without references stay two trades.
            if (found := _compare_with_group(entry, group)) > similarity:
                best, similarity = group, found
        if best is None:
            groups.append(_Group())
            groups[-1].add(entry)
        else:
            best.add(entry, similarity)
    return groups


def _compare_with_group(entry: LedgerEntry, group: _Group) -> Similarity:
    """Different where one of the group contradicts: a statement without a reference makes no one trade of two notes."""
    if any(_are_decided_distinct(entry, member) for member in group.members):
        return Similarity.DIFFERENT
    if any(_are_decided_same(entry, member) for member in group.members):
        return Similarity.CERTAIN
    if any(entry.document_id == member.document_id for member in group.members):
        return Similarity.DIFFERENT  # a document that lists a trade twice has two: partial executions
    found = [(compare_trades(entry, member), member) for member in group.members]
    if any(similarity is Similarity.DIFFERENT for similarity, _ in found):
        return Similarity.DIFFERENT
    is_certain = any(
        similarity is Similarity.CERTAIN
        and group.similarity.get(member.trade_id, Similarity.CERTAIN) is Similarity.CERTAIN
        for similarity, member in found
    )
    return Similarity.CERTAIN if is_certain else Similarity.POSSIBLE


def _are_decided_same(one: LedgerEntry, other: LedgerEntry) -> bool:
    return other.trade_id in one.same_as or one.trade_id in other.same_as


def _are_decided_distinct(one: LedgerEntry, other: LedgerEntry) -> bool:
    return other.trade_id in one.distinct_from or one.trade_id in other.distinct_from


_FITTING, _NAMED, _DECIDED = 1, 2, 3  # how clearly a cancellation means a trade


def _match_cancellations(
    cancellations: Sequence[_Group], trades: Sequence[_Group]
) -> tuple[dict[int, _Group], dict[int, _Group]]:
    """By the place of a trade in `trades`: the cancellation that takes it back, and one that may mean it or another.

    The clearest first: one that names its trade must not find it taken by one that would fit several.
    """
    waiting = [(group, [_grade_cancellation(group, trade) for trade in trades]) for group in cancellations]
    matched: dict[int, _Group] = {}
    for least in (_DECIDED, _NAMED, _FITTING):
        unmatched = []
        for group, grades in waiting:
            places = [place for place, grade in enumerate(grades) if grade >= least and place not in matched]
            if len(places) == 1:
                matched[places[0]] = group
            else:
                unmatched.append((group, grades))
        waiting = unmatched
    unclear = {
        place: group
        for group, grades in reversed(waiting)
        for place, grade in enumerate(grades)
        if grade and place not in matched
    }
    return matched, unclear


def _grade_cancellation(cancellation: _Group, trade: _Group) -> int:
    isins = cancellation.isins | trade.isins
    if None not in isins and not cancellation.isins & trade.isins and not any(one.same_as for one in trade.members):
        return 0  # of another security
    pairs = [(taking, taken) for taking in cancellation.members for taken in trade.members]
    if any(_are_decided_distinct(*pair) or _is_in_place(*pair) for pair in pairs):
        return 0
    if any(_are_decided_same(*pair) for pair in pairs):
        return _DECIDED
    return max(_grade_pair(taking.trade, taken.trade) for taking, taken in pairs)


def _is_in_place(taking: LedgerEntry, taken: LedgerEntry) -> bool:
    """Whether a corrected note states a trade in place of the one that it takes back: it never takes back its own."""
    return (
        taking.document_id == taken.document_id
        and taken.document_type == CONTRACT_NOTE
        and bool(taking.trade.reference and taken.trade.reference)
        and not have_same_printed_reference(taking.trade, taken.trade)
    )


def _grade_pair(taking: Trade, taken: Trade) -> int:
    """A cancellation has a reference of its own, or that of the trade: another one contradicts nothing."""
    security, price = have_same_security(taking, taken), have_same_price(taking, taken)
    if security is False:
        return 0
    if have_same_printed_reference(taking, taken):
        return _NAMED
    if price is False or have_same_account(taking, taken) is False:
        return 0
    return _FITTING if security is True or price is True else 0


def _judge_group(group: _Group, cancellation: _Group | None, unclear: _Group | None) -> dict[str, TradeJudgement]:
    by = cancellation or unclear
    cancelled_by = None if by is None else by.first.trade_id
    if not group.first.is_confirmed:
        state = TradeState.UNCONFIRMED
    elif by is None:
        state = TradeState.COUNTED
    else:
        is_sure = cancellation is not None and cancellation.first.is_confirmed
        state = TradeState.CANCELLED if is_sure else TradeState.POSSIBLY_CANCELLED
    judgements = {group.first.trade_id: TradeJudgement(state, cancelled_by=cancelled_by)}
    for member in group.members[1:]:
        is_certain = group.similarity[member.trade_id] is Similarity.CERTAIN
        state = TradeState.DUPLICATE if is_certain else TradeState.POSSIBLE_DUPLICATE
        judgements[member.trade_id] = TradeJudgement(
            state if member.is_confirmed else TradeState.UNCONFIRMED, duplicate_of=group.first.trade_id
        )
    return judgements


def _judge_cancellation(group: _Group, taken: LedgerEntry | None) -> dict[str, TradeJudgement]:
    state = TradeState.CANCELLATION_UNMATCHED if taken is None else TradeState.CANCELLATION
    cancels = None if taken is None else taken.trade_id
    judgements = {group.first.trade_id: TradeJudgement(state, cancels=cancels)}
    for member in group.members[1:]:
        judgements[member.trade_id] = TradeJudgement(state, duplicate_of=group.first.trade_id, cancels=cancels)
    return judgements


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
