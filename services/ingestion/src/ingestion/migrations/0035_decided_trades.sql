-- Of a key with very many trades those are judged that people have decided about. Set with a decision, and never taken
-- back: a trade that moves to another key takes it along. A constant as the default writes no row.
alter table ingestion.trade
    add column is_decided boolean not null default false;  -- whether a decision names it
