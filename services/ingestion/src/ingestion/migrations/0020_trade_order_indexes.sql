-- concurrently
-- Trades by the order that they executed, by what is known of their order, and by security.
create index concurrently if not exists trade_by_order on ingestion.trade (order_id) where order_id is not null;
create index concurrently if not exists trade_by_order_match
    on ingestion.trade (tenant_id, coalesce(order_match, 'unmatched'), seq desc) where state = 'counted';
create index concurrently if not exists trade_by_instrument on ingestion.trade using gin (instrument_keys);
