-- Claims go round the tenants and their doc sources: from one to the next in one step, however many documents wait.
create index document_due_by_source on ingestion.document (is_backfill, tenant_id, doc_source_id, next_attempt_at)
    where next_attempt_at is not null;
