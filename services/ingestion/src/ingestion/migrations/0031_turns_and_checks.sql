-- How far the log of changes was gone through for what a worker of an earlier release left out. One row per release that
-- writes more than the one before it.
create table ingestion.document_check (
    name text primary key,                        -- what is checked
    checked_seq bigint not null                   -- the changes up to this `document_event.seq` were
);
insert into ingestion.document_check (name, checked_seq) select 'index-1', last_seq from ingestion.document_event_head;

-- What workers of before 0027 finished since then; behind the row above, so that no change falls between the two.
insert into ingestion.shared_document (tenant_id, seq)
select tenant_id, document.seq from ingestion.shared_key join ingestion.document using (tenant_id, duplicate_key)
on conflict do nothing;

-- From here on whoever records an attachment waits.

-- Blobs of duplicates, from the transaction that records the duplicate until the blob is deleted: what is left of them is
-- looked at again, with what the document's own blob says then.
create table ingestion.undeleted_duplicate (
    attachment_id text primary key references ingestion.intake on delete cascade,  -- the duplicate
    next_attempt_at timestamptz not null          -- when it is looked at again
);
create index undeleted_duplicate_by_time on ingestion.undeleted_duplicate (next_attempt_at);

-- Tenants take turns in what is announced of their trades, and in the results of content that came very often. Rows of a
-- worker of an earlier release name no tenant, and take turns together as one more. Constants and the time of the
-- migration as defaults write no row.
alter table ingestion.trade_announcement
    add column tenant_id text not null default '',          -- of the document; empty: of an earlier release
    add column next_turn_at timestamptz not null default now();  -- later, where it could not be announced
alter table ingestion.result_backlog
    add column tenant_id text not null default '';          -- of the document; empty: of an earlier release
