-- Whoever asked for a re-list sees by it which run has done it.
alter table sync_engine.sync_run
    add column relist_number bigint not null default 0;  -- of the newest re-list that was begun when the run was
