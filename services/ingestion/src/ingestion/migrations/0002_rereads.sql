-- A final document can be read again: its status and its result stay as they are until that reading ends. So whether
-- there is work is told by `next_attempt_at` and `lease_token` alone, and no longer by the status.

alter table ingestion.document
    add column is_backfill boolean not null default false,  -- read after the documents of new mail
    add column replay_id text,                   -- newest replay that asked for another reading; null: none did
    -- number of its newest result; rises when another reading ends with another outcome
    add column result_number integer not null default 1,
    -- `archive_path` is reserved and its copy not written yet
    add column is_archive_path_reserved boolean not null default false;

update ingestion.document set is_archive_path_reserved = true
where status in ('pending', 'processing') and archive_path is not null;

alter table ingestion.document
    drop constraint document_check,
    drop constraint document_check1,
    add constraint document_unread_is_due check (status not in ('pending', 'processing') or next_attempt_at is not null),
    add constraint document_processing_is_leased check (status <> 'processing' or lease_token is not null),
    add constraint document_pending_is_not_leased check (status <> 'pending' or lease_token is null),
    add constraint document_lease_has_an_end check (lease_token is null or next_attempt_at is not null);

drop index ingestion.document_claimable;
create index document_due on ingestion.document (is_backfill, next_attempt_at) where next_attempt_at is not null;
