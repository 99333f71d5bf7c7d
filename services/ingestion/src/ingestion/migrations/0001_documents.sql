-- Attachments, the documents that they are, and what happened to those. Ids are UUID texts; times are by our clock
-- unless a comment says whose.

create schema if not exists ingestion;

-- One row per content in a doc source. `document_id` is the attachment id of the first attachment with that content.
create table ingestion.document (
    document_id text primary key,
    seq bigint generated always as identity,     -- the order of the API's pages
    tenant_id text not null,
    doc_source_id text not null,
    profile text not null,
    content_sha256 text not null,
    content_type text not null,
    size_bytes bigint not null,
    blob_key text not null,
    source_metadata jsonb not null,              -- of the first attachment; names of design 7.2
    status text not null default 'pending'
        check (status in ('pending', 'processing', 'completed', 'needs_review', 'skipped', 'failed')),
    skip_reason text,
    review_reason text,                          -- of needs_review and failed: why a person should look
    document_type text,
    classification jsonb,
    extraction jsonb,
    confidence double precision,
    reader text,
    archive_path text unique,                    -- reserved before the copy is written
    attempts integer not null default 0,
    lease_token uuid,                            -- only the worker that has it may finish the document
    next_attempt_at timestamptz default now(),   -- claimable from then on: of a claimed one the end of its lease
    last_error text,
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
    attachment_id text primary key,
    document_id text not null references ingestion.document on delete cascade,
    seq bigint generated always as identity,
    tenant_id text not null,
    doc_source_id text not null,
    provider text not null,
    message_id text not null,
    internet_message_id text,
    part_path text not null,
    filename text,
    content_type text not null,
    size_bytes bigint not null,
    blob_key text not null,
    sender text,
    subject text,
    received_at timestamptz,                     -- provider's clock
    folder text,
    recorded_at timestamptz not null default now()
);
create index intake_by_document on ingestion.intake (document_id, seq);

-- The log of changes that the event stream sends. Written with the change; `seq` comes afterwards, in a transaction of
-- its own, so that it rises in the order in which the rows become visible.
create table ingestion.document_event (
    id bigint generated always as identity primary key,
    seq bigint unique,
    tenant_id text not null,
    document_id text not null,
    document jsonb not null,                     -- the document as the API showed it after the change
    created_at timestamptz not null default now()
);
create index document_event_unnumbered on ingestion.document_event (id) where seq is null;
create index document_event_by_tenant on ingestion.document_event (tenant_id, seq) where seq is not null;
create index document_event_by_age on ingestion.document_event (created_at);

-- One row: its lock is what gives out numbers one after the other. `deleted_seq` is the highest that retention deleted.
create table ingestion.document_event_head (
    is_only boolean primary key default true check (is_only),
    last_seq bigint not null default 0,
    deleted_seq bigint not null default 0
);
insert into ingestion.document_event_head default values;

-- Single-use tickets for browsers, which cannot send a header with an event stream.
create table ingestion.event_ticket (
    ticket_sha256 bytea primary key,
    tenant_id text not null,
    expires_at timestamptz not null
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
