"""Statements that list rows of one tenant."""

from ingestion.adapters.list_statement import build_list_statement


def test_a_condition_stands_in_the_statement_only_where_its_value_is_given() -> None:
    conditions = [("state = {}", None), ("isin = {}", "DE0008404005"), ("seq < {}", 7)]
    assert build_list_statement("select * from ingestion.trade", "acme", conditions, 51) == (
        "select * from ingestion.trade where tenant_id = $1 and isin = $2 and seq < $3 order by seq desc limit $4",
        ["acme", "DE0008404005", 7, 51],
    )
