-- After a restore a doc source may be deleted a second time: the answer to the first deletion does not end the second.
alter table subscription_manager.doc_source
    -- deleting: sync-engine's `forgotten` counts only of a later version
    add column version_before_deletion bigint not null default 0;
