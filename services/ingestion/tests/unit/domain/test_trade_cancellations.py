"""What a corrected note takes back, in whatever order it and the note that it corrects come and are confirmed."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingestion_fakes import build_trade

from ingestion.domain import trade_cancellations
from ingestion.domain.ledger_entry import LedgerEntry
from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE, Direction, Trade
from ingestion.domain.trade_cancellations import find_days_of_cancellations, may_be_taken_back
from ingestion.domain.trade_ledger import TradeState, judge_trades

FORMER = build_trade(reference="W-5520914", account="12345678")
CORRECTED_FIELDS: dict[str, dict[str, Any]] = {
    "quantity": {"quantity": Decimal(18), "gross_amount": Decimal("369.00"), "settled_amount": Decimal("373.95")},
    "day": {"trade_date": date(2026, 4, 2)},
    "side": {"direction": Direction.SELL},
    "price": {"price": Decimal("20.05")},
    "security": {"isin": "DE0007164600"},
    "fees": {"fees": Decimal("5.95"), "settled_amount": Decimal("210.95")},
}


def build_taking(trade: Trade, number: str | None) -> Trade:
    return replace(
        trade, reference=number, is_cancellation=True, price=None, settled_amount=None, gross_amount=None, fees=None
    )


def build_entries(documents: list[tuple[str, str, list[Trade]]]) -> list[LedgerEntry]:
    """`documents` are names, with a hash behind them of the same bytes, document types and trades, as they came."""
    stated = [(name, kind, place, trade) for name, kind, trades in documents for place, trade in enumerate(trades)]
    return [
        LedgerEntry(
            trade=trade,
            document_type=kind,
            content_sha256=name.split("#")[0],
            trade_id=f"{name}.{place}",
            document_id=name,
            seq=seq,
            confirmed_seq=None,
        )
        for seq, (name, kind, place, trade) in enumerate(stated)
    ]


def confirm(entries: list[LedgerEntry], order: list[str]) -> list[LedgerEntry]:
    places = {name: place for place, name in enumerate(order)}
    return [
        replace(entry, confirmed_seq=None if entry.document_id not in places else places[entry.document_id] * 10)
        for entry in entries
    ]


def list_counted(entries: list[LedgerEntry]) -> list[Trade]:
    judgements = judge_trades(entries)
    return [entry.trade for entry in entries if judgements[entry.trade_id].state is TradeState.COUNTED]


def build_documents(field: str, own: str | None, number: str | None, beside: list[str]) -> list[Any]:
    corrected = replace(FORMER, **CORRECTED_FIELDS[field], reference=own)
    correction = [corrected, build_taking(corrected, number)]
    others = {
        "copy of the former": ("copy", CONTRACT_NOTE, [FORMER]),
        "former in another mailbox": ("former#2", CONTRACT_NOTE, [FORMER]),
        "correction in another mailbox": ("correction#2", CONTRACT_NOTE, correction),
        "copy of the correction": ("correction copy", CONTRACT_NOTE, correction),
        "cancellation of the former": ("storno", CONTRACT_NOTE, [replace(FORMER, is_cancellation=True)]),
        "statement with the corrected": ("listed", ACTIVITY_STATEMENT, [replace(corrected, reference=None)]),
    }
    return [
        ("former", CONTRACT_NOTE, [FORMER]),
        ("correction", CONTRACT_NOTE, correction),
        *(others[name] for name in beside),
    ]


BESIDE = st.lists(
    st.sampled_from(
        [
            "copy of the former",
            "former in another mailbox",
            "correction in another mailbox",
            "copy of the correction",
            "cancellation of the former",
            "statement with the corrected",
        ]
    ),
    unique=True,
    max_size=3,
)


@given(
    st.sampled_from(sorted(CORRECTED_FIELDS)),
    st.sampled_from(["W-5520914-K1", "W-5520914", None]),
    BESIDE,
    st.randoms(use_true_random=False),
)
def test_a_corrected_note_counts_in_place_of_the_one_that_it_names_whatever_came_or_was_confirmed_first(
    field: str, own: str | None, beside: list[str], shuffle: Any
) -> None:
    documents = build_documents(field, own, "W-5520914", beside)
    shuffle.shuffle(documents)
    entries = build_entries(documents)
    order = [name for name, _, _ in documents]
    shuffle.shuffle(order)
    expected = replace(FORMER, **CORRECTED_FIELDS[field])
    for confirmed in range(len(order) + 1):
        assert len(list_counted(confirm(entries, order[:confirmed]))) <= 1
    (counted,) = list_counted(confirm(entries, order))
    assert replace(counted, reference=None) == replace(expected, reference=None)
    judgements = judge_trades(confirm(entries, order))
    assert judge_trades(confirm(entries, order)[::-1]) == judgements


@given(
    st.sampled_from(["price", "fees"]),
    st.sampled_from(["W-5520914-K1", "W-5520914", None]),
    st.permutations(["former", "correction"]),
    st.permutations(["former", "correction"]),
)
def test_one_that_names_none_takes_back_what_differs_in_its_amounts_only(
    field: str, own: str | None, arrival: list[str], order: list[str]
) -> None:
    documents = {name: (name, kind, trades) for name, kind, trades in build_documents(field, own, None, [])}
    (counted,) = list_counted(confirm(build_entries([documents[name] for name in arrival]), order))
    assert counted.fees == CORRECTED_FIELDS[field].get("fees", FORMER.fees)


def settle(documents: list[tuple[str, str, list[Trade]]]) -> dict[str, str]:
    entries = confirm(build_entries(documents), [name for name, _, _ in documents])
    return {trade_id: judgement.state.value for trade_id, judgement in judge_trades(entries).items()}


CORRECTED = replace(FORMER, quantity=Decimal(18), reference="W-5520914-K1")
CORRECTION = ("b", CONTRACT_NOTE, [CORRECTED, build_taking(CORRECTED, "W-5520914")])


def test_a_correction_takes_back_no_other_trade_that_is_like_its_own() -> None:
    """Another purchase of as many shares on that day, while the note that it names is not known yet."""
    other = ("a", CONTRACT_NOTE, [replace(CORRECTED, reference="W-7000001")])
    assert settle([other, CORRECTION]) == {
        "a.0": "possibly_cancelled",  # it may be the one, by a number of another kind: a person says so
        "b.0": "counted",
        "b.1": "cancellation_unmatched",
    }
    assert settle([other, CORRECTION, ("c", CONTRACT_NOTE, [FORMER])]) == {
        "a.0": "counted",
        "b.0": "counted",
        "b.1": "cancellation",
        "c.0": "cancelled",
    }


def test_which_of_two_trades_of_one_number_is_corrected_is_not_guessed() -> None:
    parts = [replace(FORMER, quantity=Decimal(quantity)) for quantity in (4, 6)]
    states = settle([("a", CONTRACT_NOTE, parts[:1]), ("c", CONTRACT_NOTE, parts[1:]), CORRECTION])
    assert states == {
        "a.0": "possibly_cancelled",
        "c.0": "possibly_cancelled",
        "b.0": "counted",
        "b.1": "cancellation_unmatched",
    }


@pytest.mark.parametrize("changed", [{"account": "87654321"}, {"isin": "DE0007164600", "account": None}])
def test_the_same_number_of_another_account_or_bank_is_left_to_a_person(changed: dict[str, Any]) -> None:
    states = settle([("a", CONTRACT_NOTE, [replace(FORMER, **changed)]), CORRECTION])
    assert (states["a.0"], states["b.1"]) == ("possibly_cancelled", "cancellation_unmatched")


def test_each_of_several_corrections_takes_back_the_one_before_it() -> None:
    second = replace(FORMER, quantity=Decimal(80), reference="W-5520914-K2")
    third = ("c", CONTRACT_NOTE, [second, build_taking(second, "W-5520914-K1")])
    states = settle([("a", CONTRACT_NOTE, [FORMER]), CORRECTION, third])
    assert [states[name] for name in ("a.0", "b.0", "c.0")] == ["cancelled", "cancelled", "counted"]


def test_of_two_corrections_of_one_note_that_do_not_name_each_other_none_counts_until_a_person_says_which() -> None:
    second = replace(FORMER, quantity=Decimal(80), reference="W-5520914-K2")
    documents = [
        ("a", CONTRACT_NOTE, [FORMER]),
        CORRECTION,
        ("c", CONTRACT_NOTE, [second, build_taking(second, "W-5520914")]),
    ]
    states = settle(documents)
    assert [states[name] for name in ("a.0", "b.0", "c.0")] == ["cancelled", "possibly_cancelled", "possibly_cancelled"]
    entries = confirm(build_entries(documents), ["a", "b", "c"])
    decided = [replace(entry, same_as=frozenset({"b.0"})) if entry.trade_id == "c.1" else entry for entry in entries]
    judged = {trade_id: one.state.value for trade_id, one in judge_trades(decided).items()}
    assert [judged[name] for name in ("a.0", "b.0", "c.0")] == ["cancelled", "cancelled", "counted"]


def test_a_cancellation_that_says_its_own_day_takes_back_the_trade_that_it_names() -> None:
    storno = replace(FORMER, trade_date=date(2026, 4, 20), is_cancellation=True)
    states = settle([("a", CONTRACT_NOTE, [FORMER]), ("c", CONTRACT_NOTE, [storno])])
    assert states == {"a.0": "cancelled", "c.0": "cancellation"}
    unnamed = replace(storno, reference=None)
    assert settle([("a", CONTRACT_NOTE, [FORMER]), ("c", CONTRACT_NOTE, [unnamed])])["a.0"] == "counted"


def test_a_person_names_the_trade_that_a_correction_takes_back() -> None:
    former = replace(FORMER, reference="ORDER-77")
    documents = [("a", CONTRACT_NOTE, [former]), CORRECTION]
    assert settle(documents)["a.0"] == "counted"
    entries = [
        replace(entry, same_as=frozenset({"a.0"})) if entry.trade_id == "b.1" else entry
        for entry in confirm(build_entries(documents), ["a", "b"])
    ]
    assert judge_trades(entries)["a.0"].state is TradeState.CANCELLED


def test_a_note_of_very_many_trades_and_cancellations_counts_none_of_them_and_is_judged_at_once() -> None:
    """Compared in pairs they took minutes, in which the ledger of the tenant was locked."""
    trades = [replace(FORMER, quantity=Decimal(10 + number), reference=f"R{number}") for number in range(150)]
    taken = [build_taking(trade, FORMER.reference) for trade in trades]
    states = settle([("former", CONTRACT_NOTE, [FORMER]), ("note", CONTRACT_NOTE, [*trades, *taken])])
    assert "counted" not in {state for trade_id, state in states.items() if trade_id.startswith("note")}


def test_cancellations_are_compared_with_the_trades_that_they_may_mean_and_not_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a hundred of each, every pair took seconds, in which the ledger of the tenant was locked; each further mail
    made it longer, until Postgres ended the transaction each time."""
    grades = count_calls(monkeypatch, trade_cancellations, "_grade")
    rivals = count_calls(monkeypatch, trade_cancellations._Replacement, "is_rival_of")
    monkeypatch.setattr(trade_cancellations, "_MAX_COMPARED_PAIRS", 2000)
    trades = [replace(FORMER, quantity=Decimal(10 + number), reference=f"R-{number:04}") for number in range(30)]
    taken = [replace(trade, reference=f"S-{trade.reference}", is_cancellation=True) for trade in trades]
    states = settle([("note", CONTRACT_NOTE, [*trades, *taken])])
    assert len(grades) <= 2 * len(trades)
    assert len(rivals) <= 2000
    assert set(states.values()) == {"possibly_cancelled", "cancellation_unmatched"}


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    calls: list[None] = []
    original = getattr(owner, name)

    def call(*values: Any) -> Any:
        calls.append(None)
        return original(*values)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize(
    ("changed", "of_corrected_note", "of_another"),
    [
        ({"reference": "ORDER-77"}, True, True),
        ({"quantity": Decimal(18)}, True, False),  # a corrected note does not say what was corrected
        ({"quantity": None}, True, True),
        ({"trade_date": date(2026, 4, 8)}, True, True),
        ({"trade_date": date(2026, 4, 9)}, False, False),
        ({"account": "87654321"}, False, False),
        ({"isin": "DE0007164600"}, False, False),
        ({"isin": None}, False, False),
    ],
)
def test_a_trade_may_be_the_one_that_was_taken_back_as_far_as_the_cancellation_tells(
    changed: dict[str, Any], of_corrected_note: bool, of_another: bool
) -> None:
    taking = build_taking(FORMER, "STORNO-1")
    trade = replace(FORMER, **changed)
    assert may_be_taken_back(trade, taking, is_of_corrected_note=True) is of_corrected_note
    assert may_be_taken_back(trade, taking, is_of_corrected_note=False) is of_another


def test_cancellations_are_looked_for_on_every_day_that_may_be_meant() -> None:
    first, last = find_days_of_cancellations(date(2026, 4, 8), date(2026, 4, 10))
    assert (first, last) == (date(2026, 4, 1), date(2026, 4, 17))
    assert find_days_of_cancellations(date.min, date.max) == (date.min, date.max)
