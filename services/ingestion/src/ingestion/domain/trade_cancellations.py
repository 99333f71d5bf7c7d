"""Which trade a cancellation takes back: by what a person decided, by the number that it names, or because it fits.

A corrected note has a trade of its own and, in the same document, the cancellation of the trade in whose place it
stands. What it corrects is not known: the quantity, the day, the side, the price or the security. So the number that it
names is enough, and without one only what differs in nothing else is found.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import IntEnum
from typing import Self

from ingestion.domain.ledger_entry import LedgerEntry, StatementGroup, are_decided_distinct, are_decided_same
from ingestion.domain.trade import CONTRACT_NOTE, Trade
from ingestion.domain.trade_matching import (
    find_reference,
    have_same_account,
    have_same_price,
    have_same_printed_reference,
    have_same_security,
)

_MAX_COMPARED_REPLACEMENTS = 200  # of one trade
_MAX_COMPARED_PAIRS = 100_000  # of replacements, of all trades that are judged together
_MAX_DAYS_BETWEEN = 7  # a note is corrected soon, and the same security traded again


class _Grade(IntEnum):
    """How clearly a cancellation means a trade."""

    OTHER = 0
    PERHAPS = 1  # too little says so: a person decides
    FITTING = 2  # nothing contradicts, and nothing else fits
    NAMED = 3  # by its number, and it was corrected in what may be anything
    NAMED_ALIKE = 4  # by its number, with the same direction, quantity and day
    DECIDED = 5  # a person said so


@dataclass(frozen=True, slots=True)
class CancellationMatches:
    """By the place of a trade: the cancellations that take it back, and one that may mean it or another."""

    by_trade: Mapping[int, Sequence[StatementGroup]]
    unclear: Mapping[int, StatementGroup]
    taken: Mapping[str, int] = field(init=False)  # by the id of a cancellation's first statement

    def __post_init__(self) -> None:
        places = {group.first.trade_id: place for place, groups in self.by_trade.items() for group in groups}
        object.__setattr__(self, "taken", places)

    def find_taken(self, cancellation: StatementGroup) -> tuple[int | None, StatementGroup]:
        """The place of the trade that it takes back, and the first of the cancellations that do."""
        place = self.taken.get(cancellation.first.trade_id)
        return place, cancellation if place is None else self.by_trade[place][0]


class Corrections:
    """The corrected notes among documents: each states a trade in place of one that it takes back."""

    def __init__(self, entries: Iterable[LedgerEntry]) -> None:
        made: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
        taking: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
        for entry in entries:
            if entry.document_type == CONTRACT_NOTE:
                (taking if entry.trade.is_cancellation else made)[entry.document_id].append(entry)
        self._taking = {
            document_id: _list_in_place(cancellations, made.get(document_id, ()))
            for document_id, cancellations in taking.items()
        }
        # By document the numbers of what it takes back; None: of something that it does not name.
        self._numbers_taken = {
            document_id: {find_reference(one.trade) for one in in_place.values()}
            for document_id, in_place in self._taking.items()
        }

    def is_of_corrected_note(self, group: StatementGroup) -> bool:
        return any(one.trade_id in self._taking.get(one.document_id, {}) for one in group.members)

    def is_corrected_trade(self, entry: LedgerEntry) -> bool:
        return not entry.trade.is_cancellation and bool(self._taking.get(entry.document_id))

    def makes_in_place(self, taking: LedgerEntry, made: LedgerEntry) -> bool:
        """A corrected note never takes its own trade back."""
        is_note = made.document_type == CONTRACT_NOTE and taking.document_id == made.document_id
        return is_note and _is_in_place(taking.trade, made.trade)

    def are_old_and_new(self, one: LedgerEntry, other: LedgerEntry) -> bool:
        """Whether one of two notes is a corrected one, and the other may be what it corrects: they state two trades,
        however much they are alike, of which one counts."""
        return self._may_replace(one, other) or self._may_replace(other, one)

    def _may_replace(self, corrected: LedgerEntry, other: LedgerEntry) -> bool:
        numbers = self._numbers_taken.get(corrected.document_id)
        if not numbers or corrected.content_sha256 == other.content_sha256:
            return False
        if other.document_type != CONTRACT_NOTE or self._taking.get(other.document_id):
            return False  # no plain note
        number = find_reference(other.trade)
        if number is not None and number in numbers:
            return True
        return None in numbers and have_same_printed_reference(corrected.trade, other.trade) is not False


def _list_in_place(cancellations: Sequence[LedgerEntry], made: Sequence[LedgerEntry]) -> dict[str, LedgerEntry]:
    """By their ids, the cancellations of a document that are in place of one of the trades which it makes. As
    `_is_in_place` says of two, without a look at each pair."""
    numbers = {find_reference(own.trade) for own in made} - {None}
    return {
        one.trade_id: one
        for one in cancellations
        if made and (_has_no_amounts(one.trade) or _names_another(find_reference(one.trade), numbers))
    }


def _names_another(number: str | None, numbers: Collection[str | None]) -> bool:
    return number is not None and len(numbers) > (number in numbers)


def _is_in_place(taking: Trade, made: Trade) -> bool:
    """By another number, or because the document does not tell the amounts of what it takes back."""
    return _has_no_amounts(taking) or have_same_printed_reference(taking, made) is False


def _has_no_amounts(taking: Trade) -> bool:
    return taking.price is None and taking.settled_amount is None


def match_cancellations(
    cancellations: Sequence[StatementGroup], trades: Sequence[StatementGroup], corrections: Corrections
) -> CancellationMatches:
    """The clearest first: one that names its trade must not find it taken by one that would fit several."""
    places_of = _TradePlaces(trades)
    waiting = [
        (group, {place: _grade(group, trades[place], corrections) for place in places_of.list_possible(group)})
        for group in cancellations
    ]
    matched: defaultdict[int, list[StatementGroup]] = defaultdict(list)
    for least in (_Grade.DECIDED, _Grade.NAMED_ALIKE, _Grade.NAMED, _Grade.FITTING):
        unmatched = []
        for group, grades in waiting:
            places = [place for place, grade in grades.items() if grade >= least]
            if not corrections.is_of_corrected_note(group):
                # One of two cancellations that fit one trade means another one, where neither names it.
                places = [place for place in places if not matched[place]] or places * (least >= _Grade.NAMED)
            if len(places) == 1 and not any(group.document_ids & one.document_ids for one in matched[places[0]]):
                matched[places[0]].append(group)
            else:
                unmatched.append((group, grades))
        waiting = unmatched
    by_trade = {place: groups for place, groups in matched.items() if groups}
    unclear = {
        place: group
        for group, grades in reversed(waiting)
        for place, grade in grades.items()
        if grade and place not in by_trade
    }
    return CancellationMatches(by_trade, _find_rivals(cancellations, trades, by_trade, corrections) | unclear)


class _TradePlaces:
    """Where the trades are that a cancellation may mean: those like it, those of its number, and those that a person
    decided about. A page may have a hundred of either: all others are not looked at."""

    def __init__(self, trades: Sequence[StatementGroup]) -> None:
        self._places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, trade in enumerate(trades):
            for sign in {("key", trade.key), *(sign for one in trade.members for sign in _list_signs(one))}:
                self._places[sign].append(place)

    def list_possible(self, cancellation: StatementGroup) -> list[int]:
        signs = {("key", cancellation.key), *(sign for one in cancellation.members for sign in _list_signs(one))}
        return sorted({place for sign in signs for place in self._places.get(sign, ())})


def _list_signs(entry: LedgerEntry) -> Iterator[tuple[str, str]]:
    number = find_reference(entry.trade)
    if number is not None:
        yield "number", number
    yield "decided", entry.trade_id
    for other in entry.same_as:
        yield "decided", other


def _grade(cancellation: StatementGroup, trade: StatementGroup, corrections: Corrections) -> _Grade:
    is_alike, is_corrected = cancellation.key == trade.key, corrections.is_of_corrected_note(cancellation)
    is_of_other_security = None not in cancellation.isins | trade.isins and not cancellation.isins & trade.isins
    if is_of_other_security and not is_corrected and not any(one.same_as for one in trade.members):
        return _Grade.OTHER
    pairs = [(taking, taken) for taking in cancellation.members for taken in trade.members]
    if any(are_decided_distinct(*pair) or corrections.makes_in_place(*pair) for pair in pairs):
        return _Grade.OTHER
    if any(are_decided_same(*pair) for pair in pairs):
        return _Grade.DECIDED
    if is_corrected:
        return max(_grade_corrected(taking.trade, taken.trade, is_alike) for taking, taken in pairs)
    if any(corrections.is_corrected_trade(taken) and not _has_same_amounts(taking, taken) for taking, taken in pairs):
        return _Grade.OTHER  # of the former one, which often has the same number
    grade = _grade_alike if is_alike else _grade_other
    return max(grade(taking.trade, taken.trade) for taking, taken in pairs)


def _has_same_amounts(taking: LedgerEntry, taken: LedgerEntry) -> bool:
    """As far as both state them."""
    one, other = taking.trade, taken.trade
    if one.quantity != other.quantity or have_same_price(one, other) is False:
        return False
    amounts = one.settled_amount, other.settled_amount
    return None in amounts or len({abs(amount) for amount in amounts if amount is not None}) == 1


def _grade_alike(taking: Trade, taken: Trade) -> _Grade:
    """A cancellation has a reference of its own, or that of the trade: another one contradicts nothing."""
    security, price = have_same_security(taking, taken), have_same_price(taking, taken)
    if security is False:
        return _Grade.OTHER
    if have_same_printed_reference(taking, taken):
        return _Grade.NAMED_ALIKE
    if price is False or have_same_account(taking, taken) is False:
        return _Grade.OTHER
    return _Grade.FITTING if security is True or price is True else _Grade.OTHER


def _grade_other(taking: Trade, taken: Trade) -> _Grade:
    """Of another direction, quantity or day: it may say when it was written, or turn the sides round."""
    security = have_same_security(taking, taken)
    if security is False or not have_same_printed_reference(taking, taken):
        return _Grade.OTHER
    is_sure = security is True and have_same_account(taking, taken) is not False
    return _Grade.NAMED if is_sure else _Grade.PERHAPS


def _grade_corrected(taking: Trade, taken: Trade, is_alike: bool) -> _Grade:
    """What it says is what the corrected note says, of which anything may have been otherwise. Numbers of orders are of
    one bank: with another security only the account tells that it is the same one."""
    is_named = have_same_printed_reference(taking, taken)
    account = have_same_account(taking, taken)
    if is_named:
        is_sure = account is True or (account is None and have_same_security(taking, taken) is not False)
        return _Grade.NAMED if is_sure else _Grade.PERHAPS
    fits = is_alike and _grade_alike(taking, taken) is _Grade.FITTING
    if not fits:
        return _Grade.OTHER
    return _Grade.FITTING if is_named is None else _Grade.PERHAPS


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A trade that a corrected note made, at its place, and the cancellation that it was made with."""

    place: int
    group: StatementGroup
    taking: LedgerEntry
    made: LedgerEntry

    def is_rival_of(self, other: Self) -> bool:
        return (
            self.place != other.place
            and have_same_account(self.made.trade, other.made.trade) is not False
            and not are_decided_distinct(other.taking, self.made)
        )


def may_be_taken_back(trade: Trade, taking: Trade, *, is_of_corrected_note: bool) -> bool:
    """Whether a trade may be the one that a cancellation takes back which was found nowhere: it may name a number of
    another kind, and a corrected note says nothing of what it corrects but the security. Any other cancellation says
    what it takes back: of all that were traded on a busy day not those of another quantity."""
    if trade.trade_date is None or taking.trade_date is None:
        is_near = True
    else:
        is_near = abs((trade.trade_date - taking.trade_date).days) <= _MAX_DAYS_BETWEEN
    quantities = {abs(quantity) for quantity in (trade.quantity, taking.quantity) if quantity is not None}
    is_quantity_possible = is_of_corrected_note or len(quantities) <= 1
    is_same_security = have_same_security(trade, taking) is True and have_same_account(trade, taking) is not False
    return is_near and is_quantity_possible and is_same_security


def find_days_of_cancellations(first: date, last: date) -> tuple[date, date]:
    """Between which days those are that may mean trades of these days."""
    days = timedelta(days=_MAX_DAYS_BETWEEN)
    return max(first, date.min + days) - days, min(last, date.max - days) + days


def _find_rivals(
    cancellations: Sequence[StatementGroup],
    trades: Sequence[StatementGroup],
    by_trade: Mapping[int, Sequence[StatementGroup]],
    corrections: Corrections,
) -> dict[int, StatementGroup]:
    """Trades that were made in place of one trade, by several corrected notes that do not name each other: each may
    have taken the place of another, and none counts until a person says which. By their place: another one's
    cancellation."""
    replaced_by = {id(group): place for place, groups in by_trade.items() for group in groups}
    made = defaultdict[str, list[tuple[int, LedgerEntry]]](list)
    for place, trade in enumerate(trades):
        for member in trade.members:
            made[member.document_id].append((place, member))
    rivals: dict[int, StatementGroup] = {}
    replacing = defaultdict[Hashable, list[_Replacement]](list)
    for number, group in enumerate(cancellations):
        if not corrections.is_of_corrected_note(group):
            continue
        for taking in group.members:
            replaced = replaced_by.get(id(group), find_reference(taking.trade) or ("group", number))
            replacing[replaced] += [
                _Replacement(place, group, taking, member)
                for place, member in made[taking.document_id]
                if corrections.makes_in_place(taking, member)
            ]
    pairs_left = _MAX_COMPARED_PAIRS
    for replacements in replacing.values():
        if len({one.place for one in replacements}) > 1:
            pairs_left -= len(replacements) ** 2
            is_compared = len(replacements) <= _MAX_COMPARED_REPLACEMENTS and pairs_left >= 0
            rivals |= _pair_rivals(replacements) if is_compared else _take_all_for_rivals(replacements)
    return rivals


def _pair_rivals(replacements: Sequence[_Replacement]) -> dict[int, StatementGroup]:
    """By their place: another one's cancellation."""
    return {one.place: other.group for one in replacements for other in replacements if one.is_rival_of(other)}


def _take_all_for_rivals(replacements: Sequence[_Replacement]) -> dict[int, StatementGroup]:
    """Of very many none is compared with all others."""
    first = replacements[0]
    other = next(one for one in replacements if one.place != first.place)
    return {one.place: (other if one.place == first.place else first).group for one in replacements}
