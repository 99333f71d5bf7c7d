"""`/pending-orders`: orders that trades are expected of. An order of another tenant does not exist for the caller."""

from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import ClientDisconnect

from ingestion.api.cursors import build_list_page, decode_cursor
from ingestion.api.order_fields import NewOrderRequest, parse_row
from ingestion.api.trade_examples import ORDER_EXAMPLE, ORDERS_EXAMPLE, STORED_EXAMPLE, TRADE_EXAMPLE
from ingestion.api.trade_fields import ISINFilter
from ingestion.api.versions import answer_refused_decision, parse_version
from ingestion.domain.order_csv import OrderCSVReader
from ingestion.domain.pending_order import OrderState, OrderTerms
from ingestion.ports.orders import OrderFilter, PendingOrders
from ingestion.ports.trades import TradeLedger
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem, ListPage, describe_mistake

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_ORDER_BYTES = 16 * 1024
ORDER_BODY_LIMITS = {("POST", "/pending-orders"): MAX_FILE_BYTES}
"""What `build_service_app` is told: a body that is larger than a few KB."""


def _describe_order() -> dict[str, Any]:
    """The schema in one piece: the references of its own would be looked for in the description of the API."""
    schema = NewOrderRequest.model_json_schema()
    schema["properties"]["direction"] = schema.pop("$defs")["Direction"]
    return schema


_BODY = {
    "requestBody": {
        "required": True,
        "description": "One order as JSON; or CSV of at most 4 MB and 10,000 orders: a header with the names of the "
        "fields, a comma or semicolon between values, a decimal point in numbers.",
        "content": {
            "application/json": {"schema": _describe_order()},
            "text/csv": {
                "schema": {"type": "string"},
                "example": "external_id,direction,quantity,isin,ordered_on\n2026-1187,buy,10,DE0008404005,2026-04-01\n",
            },
        },
    }
}

OrderId = Annotated[UUID, Path(description="Id of the pending order.")]


class OrderLink(BaseModel):
    """`order_id` is the pending order that the trade executed; null: the rules find it again."""

    model_config = ConfigDict(extra="forbid")

    order_id: UUID | None


def build_orders_router(orders: PendingOrders, ledger: TradeLedger, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Pending orders"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]
    _add_decision(router, orders, ledger, keys)

    @router.post(
        "/pending-orders",
        summary="Add an order, or the orders of a CSV file",
        responses=STORED_EXAMPLE,
        openapi_extra=_BODY,
    )
    async def store_orders(request: Request, caller: operator) -> dict[str, Any]:
        """An order with an `external_id` that is there already takes its place. Of a file all orders are stored, or
        none: `errors` of the answer 422 name line and column."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in ("application/json", "text/csv"):
            raise HTTPProblem(415, "This is no order", "Send application/json or text/csv.")
        try:
            is_file = media_type == "text/csv"
            given = await (_read_file(request.stream()) if is_file else _read_order(request.stream()))
        except ClientDisconnect as error:
            raise HTTPProblem(400, "The body was cut off") from error
        stored = await orders.store_orders(caller.tenant_id, given)
        counts = {"created": stored.created, "updated": stored.updated, "unchanged": stored.unchanged}
        order = None if is_file else await orders.find_external(caller.tenant_id, given[0].external_id)
        return {**counts, "order": order}

    @router.get("/pending-orders", summary="The pending orders, newest first", responses=ORDERS_EXAMPLE)
    async def list_orders(
        caller: viewer,
        state: OrderState | None = None,
        external_id: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
        isin: ISINFilter | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str | None = None,
    ) -> ListPage[dict[str, Any]]:
        wanted = OrderFilter(state=state, external_id=external_id, isin=isin)
        before = decode_cursor(cursor)
        items, following = await orders.list_orders(caller.tenant_id, wanted, before=before, limit=limit)
        return build_list_page(items, following)

    @router.get("/pending-orders/{order_id}", summary="One pending order with its trades", responses=ORDER_EXAMPLE)
    async def get_order(caller: viewer, order_id: OrderId) -> dict[str, Any]:
        order = await orders.find_order(caller.tenant_id, str(order_id))
        if order is None:
            raise _not_found()
        return order

    @router.delete("/pending-orders/{order_id}", summary="Take a pending order away", responses=ORDER_EXAMPLE)
    async def delete_order(caller: operator, order_id: OrderId) -> dict[str, Any]:
        """Its trades stay, and are matched with other orders."""
        order = await orders.delete_order(caller.tenant_id, str(order_id))
        if order is None:
            raise _not_found()
        return order

    return router


def _add_decision(router: APIRouter, orders: PendingOrders, ledger: TradeLedger, keys: APIKeys) -> None:
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @router.post("/trades/{trade_id}/order", summary="Say which order a trade executed", responses=TRADE_EXAMPLE)
    async def link_trade(
        trade_id: Annotated[UUID, Path(description="Id of the trade.")],
        body: OrderLink,
        caller: operator,
        if_match: Annotated[str | None, Header(description="`version` of the trade that you saw.")] = None,
    ) -> dict[str, Any]:
        order_id = None if body.order_id is None else str(body.order_id)
        version = parse_version(if_match)
        with answer_refused_decision("trade", "The trade is not of this order"):
            found = await orders.link_trade(caller.tenant_id, str(trade_id), order_id, version=version)
        trade = await ledger.find_trade(caller.tenant_id, str(trade_id)) if found else None
        if trade is None:
            raise HTTPProblem(404, "There is no such trade")
        return trade


async def _read_order(chunks: AsyncIterator[bytes]) -> list[OrderTerms]:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_ORDER_BYTES:
            raise HTTPProblem(413, "The body is too large", "One order at a time, or a file as text/csv.")
    try:
        return [NewOrderRequest.model_validate_json(bytes(body)).to_order()]
    except ValidationError as error:
        mistakes = [
            {"loc": ["body", *(str(step) for step in mistake["loc"])], "msg": describe_mistake(mistake)}
            for mistake in error.errors(include_url=False, include_input=False)
        ]
        raise HTTPProblem(422, "The request is not valid", errors=mistakes) from error


async def _read_file(chunks: AsyncIterator[bytes]) -> list[OrderTerms]:
    reader = OrderCSVReader[OrderTerms](parse_row)
    async for chunk in chunks:
        reader.feed_bytes(chunk)
        if reader.is_beyond_limit:
            break
    else:
        reader.feed_bytes(b"", is_last=True)
    if reader.errors:
        raise HTTPProblem(
            422,
            "The file has lines that are no orders",
            "Nothing of it was stored.",
            errors=[error.to_json() for error in reader.errors],
        )
    return reader.orders


def _not_found() -> HTTPProblem:
    return HTTPProblem(404, "There is no such pending order")
