-- Two re-lists that are asked for before the first is begun: the wider one is not to be lost.
alter table subscription_manager.doc_source
    -- number and date of re-lists before the newest that reach further back than it
    add column earlier_relists jsonb not null default '[]';
