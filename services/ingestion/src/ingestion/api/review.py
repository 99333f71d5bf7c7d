"""`POST /documents/{id}/review` and `GET /documents/{id}/history`: what a person decides, and what was before."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ingestion.api.currency_fields import CurrencyCode
from ingestion.api.cursors import build_list_page, decode_cursor
from ingestion.api.day_fields import InvoiceDay, PaperDay
from ingestion.api.documents import DocumentId, not_found
from ingestion.api.examples import DOCUMENT_EXAMPLE, HISTORY_EXAMPLE
from ingestion.api.supplier_fields import IBAN, TaxId
from ingestion.api.trade_fields import MAX_TRADES, CorrectedTrade
from ingestion.api.versions import answer_refused_decision, parse_version
from ingestion.domain.currencies import has_too_many_decimals
from ingestion.domain.invoice import TOTAL_FIELDS, Invoice, InvoiceLine, LineAmounts
from ingestion.domain.review import Review, ReviewAction
from ingestion.ports.documents import DocumentCatalog
from ingestion.ports.reviews import DocumentReviews
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import ListPage

MAX_REVIEW_BYTES = 1024 * 1024
REVIEW_BODY_LIMITS = {("POST", "/documents/{}/review"): MAX_REVIEW_BYTES}
"""What `build_service_app` is told: all trades of a statement are more than a few KB."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Amount = Annotated[Decimal, Field(max_digits=20, decimal_places=6, allow_inf_nan=False)]


class CorrectedLine(BaseModel):
    model_config = ConfigDict(extra="forbid")

    description: Text | None = None
    quantity: Amount | None = None
    unit_price: Amount | None = None
    amount: Amount | None = None
    tax_rate: Amount | None = None


class CorrectedFields(BaseModel):
    """Only those that are corrected; null is for a field that the document does not have. Lines are given whole, and so
    are trades, which are all that a contract note or statement has."""

    model_config = ConfigDict(extra="forbid")

    supplier_name: Text | None = None
    invoice_number: Text | None = None
    issue_date: InvoiceDay | None = None
    due_date: PaperDay | None = None
    currency: CurrencyCode | None = None
    total_gross: Amount | None = None
    total_net: Amount | None = None
    total_tax: Amount | None = None
    vat_id: TaxId | None = None
    iban: IBAN | None = None
    lines: list[CorrectedLine] = Field(default_factory=list, max_length=1000)
    line_amounts: LineAmounts = "net"
    amount_due: Amount | None = None
    trades: list[CorrectedTrade] = Field(default_factory=list, max_length=MAX_TRADES)

    @model_validator(mode="after")
    def _require_cents(self) -> "CorrectedFields":
        for name in (*TOTAL_FIELDS, "amount_due"):
            amount = getattr(self, name)
            if amount is not None and has_too_many_decimals(amount, self.currency):
                raise ValueError(
                    f"{name}: {amount} has more decimals than money has. Decimals have a point and thousands nothing,"
                    " as 1234.56; where the currency has three decimals, give it too"
                )
        return self

    def to_json(self) -> dict[str, Any]:
        """Those that were given, as `extraction` has them."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name != "trades"}
        lines = tuple(InvoiceLine(**line.model_dump()) for line in self.lines)
        written = Invoice(**{**values, "lines": lines}).to_json()
        written["trades"] = [trade.to_json() for trade in self.trades]
        return {name: written[name] for name in self.model_fields_set}


class ReviewRequest(BaseModel):
    """`confirm`: what the document says is right. `correct`: `fields` (and `document_type`) replace what it says; it is
    then completed, or in review for what it still lacks. `reject`: it is nothing for this doc source.

    `reviewer` is the person who decides, as the calling program names them.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"action": "correct", "fields": {"total_gross": "119.00"}, "reviewer": "anna@acme.example"}]
        },
    )

    action: ReviewAction
    fields: CorrectedFields | None = None
    document_type: (
        Literal["invoice", "credit_note", "corrected_invoice", "contract_note", "activity_statement"] | None
    ) = None
    comment: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)] | None = None
    reviewer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _require_fields_of_a_correction(self) -> "ReviewRequest":
        is_correction = self.action is ReviewAction.CORRECT
        has_values = bool(self.fields and self.fields.model_fields_set) or self.document_type is not None
        if is_correction and not has_values:
            raise ValueError("correct needs fields or document_type")
        if not is_correction and (self.fields is not None or self.document_type is not None):
            raise ValueError(f"{self.action.value} takes no fields and no document_type: use correct")
        return self

    def to_review(self, version: int, caller: Caller) -> Review:
        return Review(
            action=self.action,
            version=version,
            fields={} if self.fields is None else self.fields.to_json(),
            document_type=self.document_type,
            comment=self.comment,
            reviewer=self.reviewer,
            api_key_id=caller.key_id,
        )


def build_review_router(catalog: DocumentCatalog, reviews: DocumentReviews, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.post("/documents/{document_id}/review", summary="Confirm, correct or reject it", responses=DOCUMENT_EXAMPLE)
    async def review_document(
        document_id: DocumentId,
        body: ReviewRequest,
        caller: operator,
        response: Response,
        if_match: Annotated[str | None, Header(description="`version` of the document that you saw.")] = None,
    ) -> dict[str, Any]:
        review = body.to_review(parse_version(if_match), caller)
        with answer_refused_decision("document", "The document cannot be reviewed so"):
            found = await reviews.decide_document(caller.tenant_id, str(document_id), review)
        document = await catalog.find_document(caller.tenant_id, str(document_id)) if found else None
        if document is None:
            raise not_found()
        response.headers["ETag"] = f'"{document["version"]}"'
        return document

    @router.get(
        "/documents/{document_id}/history",
        summary="Versions of a document, and readings beside a decision, newest first",
        responses=HISTORY_EXAMPLE,
    )
    async def list_history(
        document_id: DocumentId,
        caller: viewer,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: str | None = None,
    ) -> ListPage[dict[str, Any]]:
        before = decode_cursor(cursor)
        page = await reviews.list_history(caller.tenant_id, str(document_id), before=before, limit=limit)
        if page is None:
            raise not_found()
        items, following = page
        return build_list_page(items, following)

    return router
