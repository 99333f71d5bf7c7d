"""Which of the trades that documents state count: each once, in whatever order the documents come."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingestion_fakes import build_trade

from ingestion.domain.ledger_entry import LedgerEntry
from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE
from ingestion.domain.trade_ledger import (
    MAX_COMPARED,
    MAX_SIMILAR,
    TradeJudgement,
    TradeState,
    align_trades,
    judge_trades,
)

STATEMENT: dict[str, Any] = {"document_type": ACTIVITY_STATEMENT, "reference": None}


def build_entry(name: str, seq: int = 0, *, confirmed: bool = True, **changed: Any) -> LedgerEntry:
    """`name` is that of the document, with a number behind it where it has several trades."""
    own = {field: changed.pop(field) for field in ("document_type", "same_as", "distinct_from") if field in changed}
    return LedgerEntry(
        trade=build_trade(**{"reference": None, "account": "12345678", **changed}),
        content_sha256=name[0],
        trade_id=name,
        document_id=name[0],
        seq=seq,
        confirmed_seq=seq if confirmed else None,
        **{"document_type": CONTRACT_NOTE, **own},
    )


def settle(*entries: LedgerEntry) -> dict[str, tuple[Any, ...]]:
    """The state of each, and the trade that it is held against."""
    return {
        trade_id: (one.state.value, one.duplicate_of or one.cancelled_by or one.cancels)
        for trade_id, one in judge_trades(entries).items()
    }


def test_a_trade_in_two_documents_counts_once() -> None:
    note, copy = build_entry("a", 1, reference="R-1001"), build_entry("b", 2, reference="R-1001")
    assert settle(note, copy) == {"a": ("counted", None), "b": ("duplicate", "a")}
    doubtful = build_entry("c", 3)
    assert settle(note, doubtful) == {"a": ("counted", None), "c": ("possible_duplicate", "a")}


def test_a_document_that_lists_a_trade_twice_has_two_partial_executions() -> None:
    listed = build_entry("s1", 1, **STATEMENT), build_entry("s2", 2, **STATEMENT)
    notes = build_entry("a", 3, reference="R-1001"), build_entry("b", 4, reference="R-1002")
    assert settle(*listed, *notes) == {
        "s1": ("counted", None),
        "s2": ("counted", None),
        "a": ("duplicate", "s1"),
        "b": ("duplicate", "s2"),
    }


@pytest.mark.parametrize("order", [(1, 2, 3), (2, 1, 3), (3, 1, 2), (2, 3, 1)])
def test_a_statement_makes_no_one_trade_of_two_notes(order: tuple[int, ...]) -> None:
    entries = [
        build_entry("a", order[0], reference="R-1001"),
        build_entry("b", order[1], reference="R-1002"),
        build_entry("s", order[2], **STATEMENT),
    ]
    states = [state for state, _ in settle(*entries).values()]
    assert sorted(states) == ["counted", "counted", "duplicate"]


def test_what_counts_goes_on_counting_when_an_earlier_document_is_confirmed_later() -> None:
    waiting, counted = build_entry("a", 1, confirmed=False), build_entry("b", 2)
    assert settle(waiting, counted) == {"a": ("unconfirmed", "b"), "b": ("counted", None)}
    confirmed = replace(waiting, confirmed_seq=9)
    assert settle(confirmed, counted) == {"a": ("possible_duplicate", "b"), "b": ("counted", None)}


def test_a_duplicate_counts_once_the_other_is_gone() -> None:
    assert settle(build_entry("b", 2)) == {"b": ("counted", None)}


def test_what_is_sure_of_a_doubtful_statement_only_is_doubtful_too() -> None:
    """The third is the second one's file in another mailbox, and the second is only perhaps the first one's trade."""
    entries = [build_entry("a", 1), build_entry("b", 2), replace(build_entry("c", 3), content_sha256="b")]
    assert settle(*entries)["c"] == ("possible_duplicate", "a")


def test_a_person_says_what_two_statements_are() -> None:
    note, copy = build_entry("a", 1), build_entry("b", 2, distinct_from=frozenset({"a"}))
    assert settle(note, copy) == {"a": ("counted", None), "b": ("counted", None)}
    same = build_entry("b", 2, same_as=frozenset({"a"}), account="87654321")
    assert settle(note, same)["b"] == ("duplicate", "a")


def test_a_third_statement_joins_neither_of_two_that_it_contradicts() -> None:
    first, second = build_entry("a", 1, reference="R-1001"), build_entry("b", 2, reference="R-1002")
    assert settle(first, second, build_entry("c", 3, reference="R-1003"))["c"] == ("counted", None)


def cancel(name: str, seq: int, **changed: Any) -> LedgerEntry:
    return build_entry(name, seq, is_cancellation=True, **changed)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_cancellation_takes_its_trade_back_whichever_came_first(order: tuple[int, int]) -> None:
    trade, cancellation = build_entry("a", order[0], reference="R-1001"), cancel("c", order[1], reference="R-1001")
    assert settle(trade, cancellation) == {"a": ("cancelled", "c"), "c": ("cancellation", "a")}


def test_a_cancellation_without_its_trade_says_so() -> None:
    assert settle(cancel("c", 1)) == {"c": ("cancellation_unmatched", None)}
    assert settle(cancel("c", 1), build_entry("a", 2, price=Decimal(99)))["a"] == ("counted", None)


def test_a_cancellation_that_waits_for_a_person_keeps_its_trade_from_counting() -> None:
    assert settle(build_entry("a", 1), cancel("c", 2, confirmed=False))["a"] == ("possibly_cancelled", "c")


def test_a_copy_of_a_cancellation_takes_back_no_second_trade() -> None:
    trades = build_entry("a", 1, reference="R-1001"), build_entry("b", 2, reference="R-1002")
    copies = cancel("c", 3, reference="R-1001"), cancel("d", 4, reference="R-1001")
    judgements = settle(*trades, *copies)
    assert (judgements["a"][0], judgements["b"][0]) == ("cancelled", "counted")
    assert judge_trades([*trades, *copies])["d"] == TradeJudgement(
        TradeState.CANCELLATION, duplicate_of="c", cancels="a"
    )


def test_a_cancellation_that_names_its_trade_goes_before_one_that_fits_several() -> None:
    trades = build_entry("a", 1, reference="R-1001"), build_entry("b", 2, reference="R-1002")
    unnamed, named = cancel("c", 3, account=None), cancel("d", 4, reference="R-1001", price=Decimal("20.51"))
    judgements = settle(*trades, unnamed, named)
    assert judgements["a"] == ("cancelled", "d")
    assert judgements["b"] == ("cancelled", "c")


def test_which_of_two_trades_is_taken_back_is_not_guessed() -> None:
    trades = build_entry("a", 1, reference="R-1001"), build_entry("b", 2, reference="R-1002")
    judgements = settle(*trades, cancel("c", 3))
    assert judgements == {
        "a": ("possibly_cancelled", "c"),
        "b": ("possibly_cancelled", "c"),
        "c": ("cancellation_unmatched", None),
    }
    decided = settle(*trades, cancel("c", 3, same_as=frozenset({"b"})))
    assert (decided["a"], decided["b"]) == (("counted", None), ("cancelled", "c"))
    excluded = settle(*trades, cancel("c", 3, distinct_from=frozenset({"b"})))
    assert (excluded["a"], excluded["b"]) == (("cancelled", "c"), ("counted", None))


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_a_corrected_note_takes_back_the_trade_that_it_names_and_never_its_own(order: tuple[int, ...]) -> None:
    former = build_entry("a", order[0], reference="W-5520914", price=Decimal("41.23"))
    corrected = build_entry("b1", order[1], reference="W-5520914-K1", price=Decimal("41.05"))
    takes_back = cancel("b2", order[2], reference="W-5520914", price=None)
    assert settle(former, corrected, takes_back) == {
        "a": ("cancelled", "b2"),
        "b1": ("counted", None),
        "b2": ("cancellation", "a"),
    }
    assert settle(corrected, takes_back)["b1"] == ("counted", None)


def test_the_same_trade_again_after_its_cancellation_is_left_to_a_person() -> None:
    again = settle(build_entry("a", 1), cancel("c", 2), build_entry("b", 3))
    assert again["b"] == ("possible_duplicate", "a")


def test_beyond_a_number_of_alike_trades_a_person_tells_them_apart() -> None:
    entries = [build_entry(f"s{number}", number, **STATEMENT) for number in range(MAX_SIMILAR + 1)]
    judgements = settle(*entries)
    assert judgements[f"s{MAX_SIMILAR - 1}"] == ("counted", None)
    assert judgements[f"s{MAX_SIMILAR}"] == ("possible_duplicate", "s0")


def test_very_many_trades_of_one_security_keep_none_of_another_out() -> None:
    many = [build_entry(f"s{number}", number, **STATEMENT, isin="US0378331005") for number in range(MAX_SIMILAR + 1)]
    other = build_entry("a", MAX_SIMILAR + 9, reference="R-1001", isin="DE0008404005")
    copy = build_entry("b", MAX_SIMILAR + 10, reference="R-1001", isin="DE0008404005")
    taken = build_entry("c", MAX_SIMILAR + 11, isin="DE0007164600")
    cancellation = cancel("d", MAX_SIMILAR + 12, isin="DE0007164600")
    judgements = settle(*many, other, copy, taken, cancellation)
    assert (judgements["a"], judgements["b"]) == (("counted", None), ("duplicate", "a"))
    assert (judgements["c"], judgements["d"]) == (("cancelled", "d"), ("cancellation", "c"))
    assert judgements[f"s{MAX_SIMILAR}"] == ("possible_duplicate", "s0")


def test_of_all_securities_together_no_more_are_compared_than_are_read_of_them() -> None:
    """One that is behind those that are read may be a second statement of a trade that counts already."""
    entries = [
        build_entry(f"s{number}", number, **STATEMENT, isin=f"US{number // MAX_SIMILAR:09}5")
        for number in range(MAX_COMPARED)
    ]
    judgements = settle(*entries, build_entry("a", MAX_COMPARED + 1, isin="DE0008404005"))
    assert judgements[f"s{MAX_COMPARED - 1}"] == ("counted", None)
    assert judgements["a"] == ("possible_duplicate", "s0")


def test_a_trade_counts_once_a_person_has_told_it_apart_however_many_are_alike() -> None:
    """Whoever sends one document with very many trades would keep all others of that day out of the books."""
    forged = [build_entry(f"s{number}", number, **STATEMENT, isin="US0378331005") for number in range(MAX_SIMILAR + 1)]
    real = build_entry("a", MAX_SIMILAR + 9, isin="DE0008404005", distinct_from=frozenset({"s0"}))
    again = build_entry("b", MAX_SIMILAR + 10, isin="DE0008404005", same_as=frozenset({"a"}))
    judgements = settle(*forged, real, again)
    assert judgements["a"] == ("counted", None)
    assert judgements["b"] == ("duplicate", "a")
    assert judgements[f"s{MAX_SIMILAR}"] == ("possible_duplicate", "s0")


NOTES = st.lists(st.integers(1, 4), max_size=6)  # the trade that each note states, each with its reference


@given(NOTES, st.booleans(), st.randoms(use_true_random=False))
def test_each_true_trade_counts_once_however_its_documents_come(notes: list[int], has_list: bool, shuffle: Any) -> None:
    """Notes have references and come again, a statement lists each trade once and has none."""
    true_trades = sorted(set(notes))
    stated: list[dict[str, Any]] = [
        {"name": f"{chr(97 + at)}", "reference": f"R-100{trade}"} for at, trade in enumerate(notes)
    ]
    stated += [{"name": f"z{trade}", **STATEMENT} for trade in true_trades] if has_list else []
    shuffle.shuffle(stated)
    entries = [build_entry(seq=seq, **fields) for seq, fields in enumerate(stated)]
    judgements = judge_trades(entries)
    assert judgements.keys() == {entry.trade_id for entry in entries}
    counted = [one for one in judgements.values() if one.state is TradeState.COUNTED]
    assert len(counted) == len(true_trades)


ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["a", "b", "c", "d"]),
            "reference": st.sampled_from([None, "R-1001", "R-1002"]),
            "account": st.sampled_from([None, "12345678", "87654321"]),
            "is_cancellation": st.booleans(),
            "confirmed": st.booleans(),
        }
    ),
    max_size=8,
)


@given(ENTRIES)
def test_nothing_is_lost_or_counted_twice_whatever_is_stated(stated: list[dict[str, Any]]) -> None:
    entries = [build_entry(**{**one, "name": f"{one['name']}{seq}", "seq": seq}) for seq, one in enumerate(stated)]
    judgements = judge_trades(entries)
    by_id = {entry.trade_id: entry for entry in entries}
    assert judgements.keys() == by_id.keys()
    for trade_id, one in judgements.items():
        if one.duplicate_of is not None:
            assert one.state is not TradeState.COUNTED
            assert (
                judgements[one.duplicate_of].duplicate_of is None
            )  # what it repeats is first, and no duplicate itself
            assert by_id[trade_id].document_id != by_id[one.duplicate_of].document_id
        if one.state is TradeState.COUNTED:
            assert by_id[trade_id].is_confirmed
            assert one.cancelled_by is None
    taken = [one.cancels for one in judgements.values() if one.cancels is not None and one.duplicate_of is None]
    assert len(taken) == len(set(taken))
    assert judge_trades(entries[::-1]) == judgements


def test_a_document_that_is_read_again_keeps_the_ids_of_its_trades() -> None:
    first, second, third = build_trade(), build_trade(quantity=Decimal(5)), build_trade(quantity=Decimal(7))
    known = [("x", first), ("y", second)]
    assert align_trades(known, [first, second]) == ["x", "y"]
    assert align_trades(known, [third, second, first]) == [None, "y", "x"]
    assert align_trades(known, [build_trade(fees=None), third]) == ["x", "y"]
    assert align_trades(known, [build_trade(quantity=Decimal(5), fees=None), third]) == ["y", "x"]
    assert align_trades(known, [second]) == ["y"]
    assert align_trades([("x", first), ("y", first)], [first, first]) == ["x", "y"]
