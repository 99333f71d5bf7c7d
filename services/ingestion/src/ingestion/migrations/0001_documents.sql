-- Attachments, the documents that they are, and what happened to those. Ids are UUID texts; times are by our clock
-- unless a comment says whose.

create schema if not exists ingestion;

-- One row per content in a doc source. `document_id` is the attachment id of the first attachment with that content.
create table ingestion.document (
    -- attachment id of the first attachment with this content, not derived from the content
    document_id text primary key,
    seq bigint generated always as identity,     -- the order of the API's pages
    tenant_id text not null,
    doc_source_id text not null,                 -- the only one: the same content in two sources is two documents
    profile text not null,                       -- what the doc source is read for: invoice, contract_note
    content_sha256 text not null,                -- of the bytes; one document per content and source
    content_type text not null,                  -- what the bytes are
    size_bytes bigint not null,                  -- of the bytes
    blob_key text not null,                      -- where the bytes are in the blob store
    source_metadata jsonb not null,              -- of the first attachment; names of design 7.2
    status text not null default 'pending'       -- pending and processing are under way, the others final
        check (status in ('pending', 'processing', 'completed', 'needs_review', 'skipped', 'failed')),
    skip_reason text,                            -- why it is nothing for this source (`skipped`)
    review_reason text,                          -- why it is `needs_review` or `failed`
    document_type text,                          -- what the classifier says it is
    extraction jsonb,                            -- the fields that were read
    confidence double precision,                 -- 0 to 1, of the extraction; of the classifier for `not_an_invoice`
    reader text,                                 -- which reader read it
    archive_path text unique,                    -- reserved before the copy is written; null at the end without a copy
    -- claims, but those taken back because a store was down; a claim raises it, not a failure
    attempts integer not null default 0,
    lease_token uuid,                            -- only the worker that has it may finish the document
    next_attempt_at timestamptz default now(),   -- claimable from then on; of a claimed one also the end of its lease
    retry_cause text,                            -- why it waits for another attempt; null at the end, also of `failed`
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (doc_source_id, content_sha256),
    check ((status in ('pending', 'processing')) = (next_attempt_at is not null)),
    check ((status = 'processing') = (lease_token is not null))
);
create index document_claimable on ingestion.document (next_attempt_at) where status in ('pending', 'processing');
create index document_by_tenant on ingestion.document (tenant_id, seq desc);
create index document_by_source on ingestion.document (doc_source_id, seq desc);

-- One row per attachment: what its record of `attachments` said, and the document that it is.
create table ingestion.intake (
    -- derived from source, message and part, so that a repeated record is recognised
    attachment_id text primary key,
    document_id text not null references ingestion.document on delete cascade,  -- the document with this content
    seq bigint generated always as identity,
    tenant_id text not null,
    doc_source_id text not null,
    provider text not null,
    message_id text not null,
    internet_message_id text,
    part_path text not null,                     -- Outlook: the provider's attachment id; Gmail: part number, as 1.2
    filename text,                               -- as the mail says
    detected_content_type text not null,         -- what the bytes are, whatever the mail declares
    size_bytes bigint not null,                  -- of this attachment
    uploaded_blob_key text not null,             -- where its bytes were uploaded; a duplicate's blob is deleted
    sender_address text,                         -- address in `From`
    subject text,                                -- subject of the mail
    received_at timestamptz,                     -- provider's clock
    folder text,                                 -- path of the folder (Outlook), id of the label or ARCHIVE (Gmail)
    recorded_at timestamptz not null default now()  -- when the record was handled
);
create index intake_by_document on ingestion.intake (document_id, seq);

-- The log of changes that the event stream sends. Written with the change; `seq` comes afterwards, in a transaction of
-- its own, so that it rises in the order in which the rows become visible.
create table ingestion.document_event (
    id bigint generated always as identity primary key,  -- order of insertion, which is not the order of commit
    seq bigint unique,
    tenant_id text not null,
    document_id text not null,                   -- the document that changed
    document jsonb not null,                     -- the document as the API showed it after the change
    created_at timestamptz not null default now()
);
create index document_event_unnumbered on ingestion.document_event (id) where seq is null;
create index document_event_by_tenant on ingestion.document_event (tenant_id, seq) where seq is not null;
create index document_event_by_age on ingestion.document_event (created_at);

-- One row: its lock is what gives out numbers one after the other. `deleted_seq` is the highest that retention deleted.
create table ingestion.document_event_head (
    is_only boolean primary key default true check (is_only),  -- always true: the table has one row
    last_seq bigint not null default 0,          -- highest number given so far
    deleted_seq bigint not null default 0        -- highest number that retention has deleted
);
insert into ingestion.document_event_head default values;

-- Single-use tickets for browsers, which cannot send a header with an event stream.
create table ingestion.event_ticket (
    ticket_sha256 bytea primary key,             -- the ticket itself is not stored
    tenant_id text not null,
    expires_at timestamptz not null              -- the ticket is refused from then on
);

create table ingestion.outbox (
    id bigint generated always as identity primary key,
    topic text not null,
    key text not null,
    value bytea,
    headers jsonb not null default '{}',
    aggregate text not null,
    created_at timestamptz not null default now()
);
