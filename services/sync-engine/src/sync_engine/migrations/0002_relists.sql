-- Re-lists that operators ask for: a doc source carries the number of the newest one.
alter table sync_engine.sync_state
    add column relist_number bigint not null default 0;  -- of the newest re-list that was begun; an older one never is

alter table sync_engine.cursor
    add column relist_since timestamptz;         -- of `relist`: mail received since then is listed; null: since the start
