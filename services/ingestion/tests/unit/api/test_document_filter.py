"""What a list, an export or a replay refuses: a value that nothing can match, which would list nothing as if there were
nothing. The answer names the parameter and what is accepted."""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any, get_args

import httpx
import pytest

from ingestion.api.document_filter import DocumentType
from ingestion.api.documents import build_documents_router
from ingestion.api.export import build_export_router
from ingestion.api.orders import build_orders_router
from ingestion.api.reprocess import build_reprocess_router
from ingestion.api.trades import build_trades_router
from ingestion.domain.invoice import DOCUMENT_TYPES
from ingestion.domain.trade import TRADE_DOCUMENT_TYPES
from mailroom_common.auth import APIKeys
from mailroom_common.events import Profile
from mailroom_common.process import Process
from mailroom_common.web import build_service_app

KEYS = APIKeys.parse_keys(f"acme:operator:{sha256(b'k').hexdigest()}")


class Empty:
    """A catalog, ledger or list of orders that has nothing, whatever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        async def answer(*_values: Any, **_options: Any) -> tuple[list[Any], None]:
            return [], None

        return answer


@pytest.fixture
async def api() -> AsyncIterator[httpx.AsyncClient]:
    nothing: Any = Empty()
    app = build_service_app(Process("test"), title="test")
    # As the process has them: the export in front of the document that it would be the id of.
    app.include_router(build_export_router(nothing, KEYS))
    app.include_router(build_documents_router(nothing, nothing, KEYS))
    app.include_router(build_trades_router(nothing, KEYS))
    app.include_router(build_orders_router(nothing, nothing, KEYS))
    app.include_router(build_reprocess_router(nothing, nothing, KEYS))
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": "Bearer k"}
    async with httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers) as client:
        yield client


DOCUMENT_FILTERS = [
    ({"document_type": "letter"}, "document_type", "'invoice', 'credit_note'"),
    ({"status": "lost"}, "status", "'completed'"),
    ({"profile": "letters"}, "profile", "'contract_note'"),
    ({"reason": "because"}, "reason", "fields_missing"),
    ({"currency": "euro", "amount_from": "1"}, "currency", "as EUR"),
    ({"currency": "EUR"}, "currency", "amount_from or amount_to"),
    ({"amount_from": "NaN"}, "amount_from", "finite number"),
    ({"amount_from": "10", "amount_to": "9.99"}, "amount_from", "beyond amount_to"),
    ({"issued_from": "01.04.2026"}, "issued_from", "as 2026-12-27"),
    ({"issued_from": "2026-04-02", "issued_to": "2026-04-01"}, "issued_from", "beyond issued_to"),
    ({"text": "- -"}, "text", "words of letters or digits"),
    ({"supplier": "w " * 20}, "supplier", "one to 10 words"),
    ({"text": "w" * 201}, "text", "at most 200 characters"),
    ({"number": "1" * 201}, "number", "at most 200 characters"),
    ({"content_sha256": "xyz"}, "content_sha256", "64 hex digits"),
    ({"possible_duplicate": "perhaps"}, "possible_duplicate", "true or false"),
]
TRADE_FILTERS = [
    ({"state": "booked"}, "state", "'counted'"),
    ({"isin": "DE"}, "isin", "as DE0008404005"),
    ({"order_match": "found"}, "order_match", "'linked'"),
    ({"traded_from": "2026-04-02", "traded_to": "2026-04-01"}, "traded_from", "beyond traded_to"),
]
ORDER_FILTERS = [({"state": "open"}, "state", "'filled'"), ({"external_id": "x" * 101}, "external_id", "at most 100")]


@pytest.mark.parametrize(
    ("path", "wrong", "name", "accepted"),
    [
        *(("/documents", *case) for case in DOCUMENT_FILTERS),
        *(("/documents/export", *case) for case in DOCUMENT_FILTERS),
        *(("/trades", *case) for case in TRADE_FILTERS),
        *(("/trades/export", *case) for case in TRADE_FILTERS),
        *(("/pending-orders", *case) for case in ORDER_FILTERS),
    ],
)
async def test_a_filter_that_nothing_can_match_is_refused_with_its_name_and_what_is_accepted(
    api: httpx.AsyncClient, path: str, wrong: dict[str, str], name: str, accepted: str
) -> None:
    answer = await api.get(path, params=wrong)
    assert answer.status_code == 422
    ((at, said),) = [(mistake["loc"], mistake["msg"]) for mistake in answer.json()["errors"]]
    assert (at, accepted in said) == (["query", name], True), said


@pytest.mark.parametrize(
    ("wrong", "name", "accepted"),
    [
        ({"reason": "because"}, "reason", "fields_missing"),
        ({"status": "lost"}, "status", "'completed'"),
        (
            {"created_since": "2026-04-02T00:00:00Z", "created_before": "2026-04-01T00:00:00Z"},
            "created_since",
            "beyond created_before",
        ),
    ],
)
async def test_what_is_to_be_read_again_is_refused_alike(
    api: httpx.AsyncClient, wrong: dict[str, str], name: str, accepted: str
) -> None:
    body = {"replay_id": "r1", **wrong}
    answer = await api.post("/documents/reprocess", json=body)
    ((at, said),) = [(mistake["loc"], mistake["msg"]) for mistake in answer.json()["errors"]]
    assert (answer.status_code, at, accepted in said) == (422, ["body", name], True), said


async def test_the_beginning_of_an_id_is_refused_and_named_not_unknown(api: httpx.AsyncClient) -> None:
    answer = await api.post("/documents/6b2b7a0e/reprocess")
    assert (answer.status_code, "a UUID is needed" in answer.json()["detail"]) == (400, True)


@pytest.mark.parametrize(
    "right",
    [
        {"amount_from": "119", "amount_to": "119.00"},
        {"issued_from": "2026-04-01", "issued_to": "2026-04-01"},
        {"text": "müller", "document_type": "observation"},
    ],
)
async def test_a_range_of_one_value_is_a_range(api: httpx.AsyncClient, right: dict[str, str]) -> None:
    assert (await api.get("/documents", params=right)).status_code == 200


def test_every_type_that_a_document_may_have_can_be_asked_for() -> None:
    assert set(get_args(DocumentType)) == DOCUMENT_TYPES | TRADE_DOCUMENT_TYPES | {Profile.OBSERVATION.value}
