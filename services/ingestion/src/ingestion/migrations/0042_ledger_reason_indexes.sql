-- concurrently
-- Documents whose review has its reason in the trades of other documents: few, and gone through in their order. The
-- condition is that of adapters/ledger_reasons.py.
create index concurrently if not exists document_waiting_for_ledger on ingestion.document (seq)
    where review_reason in ('cancelled_trade_not_found', 'trade_may_be_cancelled', 'trades_may_be_summed')
      and status = 'needs_review' and review_decision is null;
-- Cancellations of a security that no trade was found for, of any tenant: few of all trades, however many a tenant has.
create index concurrently if not exists trade_unmatched on ingestion.trade using gin (instrument_keys)
    where state = 'cancellation_unmatched';
