-- What sync-engine knows of mailboxes and their mail. Ids of doc sources and attachments are UUID texts; times are ours
-- unless a comment says whose.

create schema if not exists sync_engine;

create sequence sync_engine.full_due_mark;

-- One row per doc source. It outlives the source as a grave, so that a late record of it wakes nothing.
create table sync_engine.sync_state (
    doc_source_id text primary key,
    tenant_id text,                             -- null until the directory has shown us the source
    source_version bigint not null default 0,   -- of `doc-sources`; it and `state` only rise
    state text not null default 'unknown' check (state in ('unknown', 'pending', 'active', 'paused', 'deleting')),
    grant_generation bigint not null default 0, -- whose failures the next three are; a newer one clears them
    refused_generation bigint,                  -- the grant is dead: no run before a newer one
    not_before timestamptz,
    attempts integer not null default 0,        -- failed in a row
    listed_until timestamptz,                   -- provider's clock: the hint list has shown all before it
    last_full_at timestamptz,                   -- start of the last full run, written at its end
    full_due bigint,                            -- a mark of `full_due_mark`: a run clears only the one it began with
    synced_told_at timestamptz,                 -- the last `synced` event
    unannounced integer not null default 0,     -- found unannounced and not told yet
    failing_told_at timestamptz,                -- `provider_failing` was told and `recovered` not yet
    forgotten_at timestamptz
);

-- Where the sync of one folder (Graph) or of the mailbox (Gmail: `history`, `relist`) stands. Tokens are the provider's
-- and are never parsed. `version` is what a writer must have read: a zombie's page finds another one.
create table sync_engine.cursor (
    doc_source_id text not null,
    scope text not null,
    position text,                              -- none before the first round is through
    page_token text,                            -- the round under way goes on here
    round_began_at timestamptz,                 -- set while a round from nothing is under way
    version bigint not null default 1,
    moved_at timestamptz not null default now(),
    primary key (doc_source_id, scope)
);

-- The folders of a Graph mailbox as the last full run saw them: a hinted run asks no provider which are watched.
create table sync_engine.folder (
    doc_source_id text not null,
    folder_id text not null,
    path text not null,
    well_known text,
    primary key (doc_source_id, folder_id)
);

-- One row per message that was judged; the primary key is what makes a mail that shows twice one mail.
create table sync_engine.message (
    doc_source_id text not null,
    message_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,    -- pages of the API
    -- open: a taken part has no result yet. closed: each has one, or none was taken. parked: see parked_item.
    -- observed, removed: `observation` sources take nothing.
    state text not null check (state in ('open', 'closed', 'parked', 'observed', 'removed')),
    reason text,                                -- why nothing of it was taken, where no part says it
    folder_id text,
    folder text,
    internet_message_id text,
    version text,                               -- the provider's etag or history id
    received_at timestamptz,                    -- provider's clock
    subject text,
    sender_address text,
    sender_name text,
    seen_at timestamptz not null default now(), -- last time a delta showed it
    taken_at timestamptz not null default now(),
    closed_at timestamptz,
    primary key (doc_source_id, message_id)
);
create index message_by_tenant on sync_engine.message (tenant_id, seq desc);
create index message_by_source on sync_engine.message (doc_source_id, seq desc);
create index message_seen on sync_engine.message (doc_source_id, folder_id, seen_at) where state = 'observed';

-- Every part of a judged message, taken or left. `reason` has the words of the samples' index; null when taken.
create table sync_engine.message_part (
    doc_source_id text not null,
    message_id text not null,
    part_path text not null,
    position integer not null,
    taken boolean not null,
    reason text,
    attachment_id text unique,
    filename text,
    content_type text,                          -- what the bytes are when taken, else what the mail says
    size_bytes bigint,
    content_sha256 text,
    blob_key text,
    document_id text,                           -- these four from `ingestion-results`
    result_status text,
    result_reason text,
    result_at timestamptz,
    primary key (doc_source_id, message_id, part_path),
    foreign key (doc_source_id, message_id) references sync_engine.message on delete cascade,
    check (taken = (attachment_id is not null) and taken = (reason is null))
);

-- Announces an upload in a transaction of its own before the first byte is written; the page transaction clears it.
create table sync_engine.blob_upload (
    attachment_id text primary key,
    doc_source_id text not null,
    blob_key text not null,
    announced_at timestamptz not null default now()
);
create index blob_upload_by_age on sync_engine.blob_upload (announced_at);

-- Messages that could not be taken. The cursor has moved past them; they are tried again until `next_attempt_at` is null.
create table sync_engine.parked_item (
    doc_source_id text not null,
    message_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,
    reason text not null,
    detail text,
    attempts integer not null default 1,
    first_failed_at timestamptz not null,
    last_failed_at timestamptz not null,
    next_attempt_at timestamptz,
    primary key (doc_source_id, message_id)
);
create index parked_item_by_tenant on sync_engine.parked_item (tenant_id, seq desc);

create table sync_engine.sync_run (
    run_id text primary key,
    doc_source_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,
    kind text not null check (kind in ('full', 'hinted')),
    reasons text[] not null,
    started_at timestamptz not null,
    finished_at timestamptz,
    outcome text check (outcome in ('done', 'retry', 'not_syncable', 'failed')), -- null: under way, or cut off
    detail text,
    found_new integer not null default 0,
    unannounced integer not null default 0,
    parts_taken integer not null default 0,
    parked integer not null default 0
);
create index sync_run_by_tenant on sync_engine.sync_run (tenant_id, seq desc);
create index sync_run_by_source on sync_engine.sync_run (doc_source_id, seq desc);
create index sync_run_by_age on sync_engine.sync_run (started_at);

create table sync_engine.outbox (
    id bigint generated always as identity primary key,
    topic text not null,
    key text not null,
    value bytea,
    headers jsonb not null default '{}',
    aggregate text not null,
    created_at timestamptz not null default now()
);
