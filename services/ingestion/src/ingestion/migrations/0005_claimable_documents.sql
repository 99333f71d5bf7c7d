-- concurrently
-- What claims go over; in place of an index that held the resting documents too.
create index concurrently if not exists document_claimable
    on ingestion.document (is_backfill, tenant_id, doc_source_id, next_attempt_at)
    where next_attempt_at is not null and not is_resting;
-- The resting documents whose time has come.
create index concurrently if not exists document_resting on ingestion.document (next_attempt_at) where is_resting;
drop index concurrently if exists ingestion.document_due_by_source;
