import csv
from io import StringIO
from typing import Any

import pytest
from ingestion_fakes import build_trade

from ingestion.domain.export import ExportFormat
from ingestion.domain.trade import TRADE_FIELDS
from ingestion.domain.trade_views import EXPORT_COLUMNS, write_trade, write_trade_header


def read_line(**fields: Any) -> dict[str, str]:
    view = {**dict.fromkeys(EXPORT_COLUMNS), "trade": {**build_trade().to_json(), **fields}}
    text = write_trade_header(ExportFormat.CSV) + write_trade(ExportFormat.CSV, view)
    (row,) = csv.DictReader(StringIO(text.decode()))
    return row


@pytest.mark.parametrize("field", TRADE_FIELDS)
def test_no_field_of_a_trade_is_calculated_by_a_spreadsheet(field: str) -> None:
    """A currency is any word that a language model saw on the page."""
    assert read_line(**{field: '=HYPERLINK("http://a.example")'})[field].startswith("'=")


def test_a_negative_amount_of_a_trade_stays_a_number() -> None:
    assert read_line(settled_amount="-4.95")["settled_amount"] == "-4.95"
