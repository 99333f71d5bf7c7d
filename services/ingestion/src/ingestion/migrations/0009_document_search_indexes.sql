-- concurrently
create index concurrently if not exists document_words_by_word on ingestion.document_words using gin (words);
create index concurrently if not exists document_by_status on ingestion.document (tenant_id, status, seq desc);
-- Those that are still to be read: few, however many documents there are.
create index concurrently if not exists document_unfinished on ingestion.document (tenant_id, seq desc)
    where status in ('pending', 'processing');
create index concurrently if not exists document_by_reason
    on ingestion.document (tenant_id, coalesce(skip_reason, review_reason), seq desc)
    where coalesce(skip_reason, review_reason) is not null;
create index concurrently if not exists document_by_profile on ingestion.document (tenant_id, profile, seq desc);
create index concurrently if not exists document_by_type on ingestion.document (tenant_id, document_type, seq desc)
    where document_type is not null;
create index concurrently if not exists document_by_content on ingestion.document (tenant_id, content_sha256);
create index concurrently if not exists document_by_number
    on ingestion.document (tenant_id, lower(extraction ->> 'invoice_number'), seq desc)
    where extraction ->> 'invoice_number' is not null;
create index concurrently if not exists document_by_amount
    on ingestion.document (tenant_id, ingestion.read_amount(extraction ->> 'total_gross'))
    where ingestion.read_amount(extraction ->> 'total_gross') is not null;
create index concurrently if not exists document_by_issue_date
    on ingestion.document (tenant_id, (extraction ->> 'issue_date') collate "C")
    where extraction ->> 'issue_date' is not null;
create index concurrently if not exists document_by_duplicate_key on ingestion.document (tenant_id, duplicate_key)
    where duplicate_key is not null;
