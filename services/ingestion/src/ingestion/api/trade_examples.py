"""Trades as the description of the API shows them; the answers themselves are built in `domain/trade_views.py`."""

from typing import Any

_FIELDS: dict[str, Any] = {
    "direction": "buy",
    "trade_date": "2026-04-01",
    "trade_time": "09:04:12",
    "settlement_date": "2026-04-03",
    "quantity": "10",
    "price": "20.5",
    "isin": "DE0008404005",
    "wkn": "840400",
    "ticker": None,
    "security_name": "ALLIANZ SE",
    "currency": "EUR",
    "settled_amount": "209.95",
    "gross_amount": "205.00",
    "fees": "4.95",
    "taxes": "0.00",
    "accrued_interest": None,
    "foreign_currency": None,
    "foreign_gross_amount": None,
    "reference": "71234567",
    "account": "1234567890",
    "account_name": "Acme Ltd",
    "is_cancellation": False,
}
_TRADE: dict[str, Any] = {
    "id": "2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11",
    "document_id": "6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10",
    "doc_source_id": "7c1c1c0e-5b1f-4a57-9d0f-8a9c5d0e1b22",
    "document_type": "contract_note",
    "position": 0,
    "state": "possible_duplicate",
    "duplicate_of": "0f6b0a3e-35a8-4f0c-8c0e-6f0a86a5c9d4",
    "cancelled_by": None,
    "cancels": None,
    "order_match": None,
    "order_id": None,
    "version": 2,
    "order_candidates": [],
    "trade": _FIELDS,
    "created_at": "2026-11-28T13:10:00.000Z",
    "updated_at": "2026-11-28T13:10:00.000Z",
}
_DECISION: dict[str, Any] = {
    "trade_id": _TRADE["id"],
    "other_trade_id": _TRADE["duplicate_of"],
    "decision": "distinct",
    "comment": "two orders of one day",
    "reviewer": "anna@acme.example",
    "api_key_id": "9f86d081884c",
    "decided_at": "2026-11-28T13:20:00.000Z",
}


def _answer(example: dict[str, Any], status: int = 200) -> dict[int | str, dict[str, Any]]:
    return {status: {"content": {"application/json": {"example": example}}}}


TRADES_EXAMPLE = _answer({"items": [_TRADE], "next_cursor": None})
TRADE_EXAMPLE = _answer({**_TRADE, "statements": [_TRADE], "decisions": [_DECISION]})

_ORDER: dict[str, Any] = {
    "id": "5a3c2f0e-9b7d-4c55-8c1e-2f9d6b1a7e42",
    "external_id": "2026-1187",
    "direction": "buy",
    "isin": "DE0008404005",
    "wkn": None,
    "ticker": None,
    "account": "1234567890",
    "currency": "EUR",
    "state": "filled",
    "quantity": "10",
    "limit_price": "21",
    "executed_quantity": "10",
    "ordered_on": "2026-04-01",
    "valid_until": None,
    "created_at": "2026-04-01T07:10:00.000Z",
    "updated_at": "2026-04-01T17:10:00.000Z",
}
_ORDER_WITH_TRADES: dict[str, Any] = {**_ORDER, "trades": [_TRADE["duplicate_of"]]}
ORDERS_EXAMPLE = _answer({"items": [_ORDER], "next_cursor": None})
ORDER_EXAMPLE = _answer(_ORDER_WITH_TRADES)
STORED_EXAMPLE = _answer({"created": 1, "updated": 0, "unchanged": 0, "order": _ORDER_WITH_TRADES})
