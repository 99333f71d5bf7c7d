"""`GET /trades` and what people decide about them. A trade of another tenant does not exist for the caller."""

from dataclasses import replace
from datetime import date
from enum import StrEnum
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

from ingestion.api.cursors import build_list_page, decode_cursor
from ingestion.api.export_streams import EXPORT_RESPONSES, FormatParameter, Page, answer_with_export, stream_pages
from ingestion.api.trade_examples import TRADE_EXAMPLE, TRADES_EXAMPLE
from ingestion.api.trade_fields import ISINFilter
from ingestion.api.versions import answer_refused_decision, parse_version
from ingestion.domain.export import ExportFormat
from ingestion.domain.order_matching import OrderMatch
from ingestion.domain.trade_ledger import TradeState
from ingestion.domain.trade_views import write_trade, write_trade_header
from ingestion.ports.trades import ForeignCursor, TradeDecision, TradeFilter, TradeLedger
from mailroom_common.api_requests import DocSourceFilter, refuse_unknown_parameters, require_range
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem, ListPage

_PAGE = 500  # trades of an export at a time

TradeId = Annotated[UUID, Path(description="Id of the trade.")]


class TradeVerdict(StrEnum):
    SAME = "same"  # both are statements of one trade; of a cancellation: that is what it takes back
    DISTINCT = "distinct"  # they are two trades; of a cancellation: it takes back another one


class TradeDecisionRequest(BaseModel):
    """`same`: this trade and the other one are one trade, or the cancellation takes that one back. `distinct`: they are
    two. `other_trade_id`: by default the one that the ledger names beside it.

    `reviewer` is the person who decides, as the calling program names them.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"decision": "distinct", "comment": "two orders of one day", "reviewer": "anna@acme.example"}]
        },
    )

    decision: TradeVerdict
    other_trade_id: UUID | None = None
    comment: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)] | None = None
    reviewer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None

    def to_decision(self, version: int, caller: Caller) -> TradeDecision:
        return TradeDecision(
            is_same=self.decision is TradeVerdict.SAME,
            other_trade_id=None if self.other_trade_id is None else str(self.other_trade_id),
            version=version,
            comment=self.comment,
            reviewer=self.reviewer,
            api_key_id=caller.key_id,
        )


def read_trade_filter(
    document_id: Annotated[UUID | None, Query(description="Only of this document.")] = None,
    doc_source_id: DocSourceFilter = None,
    state: TradeState | None = None,
    isin: ISINFilter | None = None,
    traded_from: date | None = None,
    traded_to: date | None = None,
    changed_since: Annotated[
        AwareDatetime | None,
        Query(
            description="Only what changed since then: give the greatest `updated_at` that you know.",
            examples=["2026-11-30T00:00:00Z"],
        ),
    ] = None,
    order_match: Annotated[
        OrderMatch | None, Query(description="Of trades that count: what is known of their order.")
    ] = None,
    order_id: Annotated[UUID | None, Query(description="Only of this pending order.")] = None,
) -> TradeFilter:
    require_range("traded_from", traded_from, "traded_to", traded_to)
    return TradeFilter(
        document_id=None if document_id is None else str(document_id),
        doc_source_id=None if doc_source_id is None else str(doc_source_id),
        state=state,
        isin=isin,
        traded_from=traded_from,
        traded_to=traded_to,
        changed_since=changed_since,
        order_match=order_match,
        order_id=None if order_id is None else str(order_id),
    )


def build_trades_router(ledger: TradeLedger, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Trades"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]
    _add_export(router, ledger, keys)
    _add_decisions(router, ledger, keys)

    @router.get("/trades", summary="The trades that documents state, newest first", responses=TRADES_EXAMPLE)
    async def list_trades(
        caller: viewer,
        wanted: Annotated[TradeFilter, Depends(read_trade_filter)],
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str | None = None,
    ) -> ListPage[dict[str, Any]]:
        """Those in state `counted` are to be booked: each trade once, however many documents state it.

        The newest first: by their day where one is asked for, else by their change where that is asked for, else as
        they were read.
        """
        before = decode_cursor(cursor, bits=127)
        try:
            items, following = await ledger.list_trades(caller.tenant_id, wanted, before=before, limit=limit)
        except ForeignCursor:
            raise HTTPProblem(
                422,
                "The cursor is of a list with other filters",
                "Leave it out for the first page, and pass `next_cursor` of each page with the same filters.",
            ) from None
        return build_list_page(items, following)

    @router.get("/trades/{trade_id}", summary="One trade with all statements of it", responses=TRADE_EXAMPLE)
    async def get_trade(caller: viewer, trade_id: TradeId, response: Response) -> dict[str, Any]:
        return await _find_trade(ledger, caller, trade_id, response)

    return router


def _add_decisions(router: APIRouter, ledger: TradeLedger, keys: APIKeys) -> None:
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @router.post("/trades/{trade_id}/decision", summary="Say what a trade is", responses=TRADE_EXAMPLE)
    async def decide_trade(
        trade_id: TradeId,
        body: TradeDecisionRequest,
        caller: operator,
        response: Response,
        if_match: Annotated[str | None, Header(description="`version` of the trade that you saw.")] = None,
    ) -> dict[str, Any]:
        decision = body.to_decision(parse_version(if_match), caller)
        with answer_refused_decision("trade", "This cannot be decided about the trade"):
            found = await ledger.decide_trade(caller.tenant_id, str(trade_id), decision)
        if not found:
            raise _not_found()
        return await _find_trade(ledger, caller, trade_id, response)


def _add_export(router: APIRouter, ledger: TradeLedger, keys: APIKeys) -> None:
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get(
        "/trades/export",
        summary="The trades that count, newest first, as CSV or JSON Lines",
        response_class=StreamingResponse,
        responses=EXPORT_RESPONSES,
    )
    async def export_trades(
        caller: viewer,
        wanted: Annotated[TradeFilter, Depends(read_trade_filter)],
        export_format: FormatParameter = ExportFormat.CSV,
    ) -> StreamingResponse:
        """Without `state` those that are to be booked; with it those of that state."""
        in_state = wanted if wanted.state is not None else replace(wanted, state=TradeState.COUNTED)

        async def list_page(before: int | None) -> Page:
            return await ledger.list_trades(caller.tenant_id, in_state, before=before, limit=_PAGE)

        pages = stream_pages(list_page, write_trade_header(export_format), partial(write_trade, export_format))
        return await answer_with_export("trades", export_format, pages)


async def _find_trade(ledger: TradeLedger, caller: Caller, trade_id: UUID, response: Response) -> dict[str, Any]:
    trade = await ledger.find_trade(caller.tenant_id, str(trade_id))
    if trade is None:
        raise _not_found()
    response.headers["ETag"] = f'"{trade["version"]}"'
    return trade


def _not_found() -> HTTPProblem:
    return HTTPProblem(404, "There is no such trade")
