-- Which deletion was answered: after a restore a doc source may be deleted a second time.
alter table sync_engine.sync_state
    add column forgotten_version bigint;  -- version of the doc source that `forgotten` was last reported for
