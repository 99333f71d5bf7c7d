-- concurrently
-- References of trades in capitals of ASCII alone, whatever the database's locale: in a Turkish one `i` has another
-- capital than `I`, and a cancellation did not find its trade. As `FOLDED_REFERENCE` of adapters/similar_trades.py has it.
-- `trade_by_reference` stays while a worker of an earlier release may look there, under the lock of the ledger.
create index concurrently if not exists trade_by_folded_reference on ingestion.trade
    (tenant_id, upper(regexp_replace(left(fields ->> 'reference', 200), '[^A-Za-z0-9]', '', 'g') collate "C"),
     is_cancellation, seq);
