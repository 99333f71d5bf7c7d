-- concurrently
create index concurrently if not exists trade_announcement_by_tenant on ingestion.trade_announcement
    (tenant_id, entry_id);
create index concurrently if not exists result_backlog_by_tenant on ingestion.result_backlog
    (tenant_id, next_turn_at);
-- In place of the constraint of 0001: the columns of a unique index without a condition are a key to Postgres, and who
-- changes a key is waited for by whoever refers to the row.
create unique index concurrently if not exists document_archive_path on ingestion.document (archive_path)
    where archive_path is not null;
