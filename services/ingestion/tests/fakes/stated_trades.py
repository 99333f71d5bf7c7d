"""Documents that state trades, as their reading finishes them."""

from ingestion_fakes import build_record, build_trade
from ingestion_site import Ingestion

from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import CONTRACT_NOTE, Trade
from mailroom_common.events import Profile, ResultStatus

NOTE = build_trade(reference="R-1001")


def outcome_of(*trades: Trade, status: ResultStatus = ResultStatus.COMPLETED) -> DocumentOutcome:
    return DocumentOutcome(
        status=status,
        reason=None if status is ResultStatus.COMPLETED else ReviewReason.TRADE_CANCELLED,
        document_type=CONTRACT_NOTE,
        extraction={"trades": [trade.to_json() for trade in trades]},
        confidence=0.95,
        reader="trades/1",
    )


async def claim(site: Ingestion, name: str, *, source: str = "source-1", tenant: str = "acme") -> DocumentLease:
    await site.intakes.record_attachment(
        build_record(name.encode(), message=name, source=source, tenant=tenant, profile=Profile.CONTRACT_NOTE)
    )
    return await site.claim_document()


async def finish(site: Ingestion, name: str, outcome: DocumentOutcome, **where: str) -> str:
    lease = await claim(site, name, **where)
    assert await site.leases.finish_document(lease, outcome)
    return lease.document_id
