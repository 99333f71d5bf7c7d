-- concurrently
-- The newest orders and trades of a security, by each of its keys (an ISIN is always the first): a security that is
-- traded every day costs no more than another.
create index concurrently if not exists trade_by_first_key on ingestion.trade
    (tenant_id, (fields ->> 'direction'), (instrument_keys[1]), trade_date desc nulls last, seq desc)
    where state = 'counted' or order_match is not null;
create index concurrently if not exists trade_by_second_key on ingestion.trade
    (tenant_id, (fields ->> 'direction'), (instrument_keys[2]), trade_date desc nulls last, seq desc)
    where (state = 'counted' or order_match is not null) and instrument_keys[2] is not null;
create index concurrently if not exists trade_by_third_key on ingestion.trade
    (tenant_id, (fields ->> 'direction'), (instrument_keys[3]), trade_date desc nulls last, seq desc)
    where (state = 'counted' or order_match is not null) and instrument_keys[3] is not null;
create index concurrently if not exists pending_order_by_first_key on ingestion.pending_order
    (tenant_id, direction, (instrument_keys[1]), ordered_on desc, seq desc);
create index concurrently if not exists pending_order_by_second_key on ingestion.pending_order
    (tenant_id, direction, (instrument_keys[2]), ordered_on desc, seq desc) where instrument_keys[2] is not null;
create index concurrently if not exists pending_order_by_third_key on ingestion.pending_order
    (tenant_id, direction, (instrument_keys[3]), ordered_on desc, seq desc) where instrument_keys[3] is not null;
-- Trades whose order a person named: looked for when that order is deleted.
create index concurrently if not exists trade_by_decided_order on ingestion.trade (decided_order_id)
    where decided_order_id is not null;
-- Requests and announcements are worked off tenant by tenant.
create index concurrently if not exists order_match_request_by_security on ingestion.order_match_request
    (tenant_id, direction, instrument_key);
create index concurrently if not exists order_match_request_by_tenant on ingestion.order_match_request
    (tenant_id, entry_id);
-- Pages of trades by day, and by what changed, are read in that order: trades of last year would otherwise be looked for
-- among all that were read since.
create index concurrently if not exists trade_by_day_in_order on ingestion.trade (tenant_id, trade_date, seq)
    where trade_date is not null;
drop index concurrently if exists ingestion.trade_by_day;
create index concurrently if not exists trade_by_change_in_order on ingestion.trade (tenant_id, updated_at, seq);
drop index concurrently if exists ingestion.trade_by_change;
