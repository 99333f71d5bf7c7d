-- Documents whose content came with so many attachments that their results are written some at a time: a sender may send
-- one file a hundred thousand times, and each version of the document has a result for each of them.
create table ingestion.result_backlog (
    document_id text primary key references ingestion.document on delete cascade,  -- whose results are not all written
    after_seq bigint not null,                   -- those of attachments beyond this `intake.seq` are not
    next_turn_at timestamptz not null default now()  -- documents take turns
);
create index result_backlog_by_turn on ingestion.result_backlog (next_turn_at);
