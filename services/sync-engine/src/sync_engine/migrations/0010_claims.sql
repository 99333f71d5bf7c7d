-- What the table shared with the outside job needs to know of a message of a `contract_note` source.
alter table sync_engine.message
    add column state_id text;                   -- how bo_airflow.email_ingestion_state names it; null: not shared
alter table sync_engine.message_part
    add column trades integer not null default 0, -- how many trades were read from it, from `ingestion-results`
    add column archive_path text;               -- where its archived copy is, from `ingestion-results`
