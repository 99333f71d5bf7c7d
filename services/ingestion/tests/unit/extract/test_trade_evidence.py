from io import BytesIO
from typing import Any

import orjson
import pytest
from ingestion_fakes import build_trade

from ingestion.domain.transcript import Transcript
from ingestion.extract.trade_evidence import check_trades

NOTE = """Acme Brokers
Kauf am 01.04.2026   Valuta 03.04.2026
ALLIANZ SE NA O.N.   ISIN DE0008404005
Stück 1.250,00000   Kurs 20,500000 EUR
Kurswert 25.625,00 EUR   Provision 4,95 EUR
zulasten Konto 12345678   25.629,95 EUR"""
PRINTED: dict[str, Any] = {
    "quantity": "1250",
    "price": "20.5",
    "gross_amount": "25625.00",
    "settled_amount": "25629.95",
    "settlement_date": "2026-04-03",
    "security_name": "Allianz SE NA",
    "account": "12345678",
}


def find_unprinted(note: str = NOTE, **changed: Any) -> list[str]:
    trade = {**build_trade().to_json(), **PRINTED, **changed}
    asked = {"transcript": Transcript.from_rows(note.splitlines()).to_json(), "trades": [trade]}
    answer: Any = check_trades(BytesIO(orjson.dumps(asked)), {})
    (names,) = answer
    return list(names)


def test_values_stand_on_the_page_however_they_are_written() -> None:
    assert find_unprinted() == []
    assert find_unprinted(NOTE.replace("25.629,95", "25 629,95").replace("1.250,00000", "1 250")) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("quantity", "125"),
        ("settled_amount", "629.95"),
        ("price", "20.6"),
        ("isin", "DE000840400"),
        ("account", "1234567"),
        ("trade_date", "2026-04-02"),
        ("security_name", "Siemens AG"),
        ("currency", "USD"),
    ],
)
def test_a_value_that_is_not_whole_on_the_page_is_not_on_it(name: str, value: str) -> None:
    assert find_unprinted(**{name: value}) == [name]
