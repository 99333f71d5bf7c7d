-- Re-lists that operators asked for: carried in `doc-sources`, done by sync-engine.
alter table subscription_manager.doc_source
    add column relist_from timestamptz,          -- mail received since then is listed again; null: never asked for
    add column relist_number bigint not null default 0;  -- how many re-lists were asked for
