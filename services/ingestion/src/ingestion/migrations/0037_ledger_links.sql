-- concurrently
-- A cancellation finds the trade that it names by the letters and digits of the number, whatever else was corrected, and
-- a trade the cancellations that name it. The expression is `_REFERENCE` of adapters/similar_trades.py.
create index concurrently if not exists trade_by_reference on ingestion.trade
    (tenant_id, upper(regexp_replace(left(fields ->> 'reference', 200), '[^A-Za-z0-9]', '', 'g')), is_cancellation, seq);
create index concurrently if not exists trade_decided on ingestion.trade (tenant_id, match_key, confirmed_seq, seq)
    where is_decided;
