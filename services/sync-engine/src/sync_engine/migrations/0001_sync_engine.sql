-- What sync-engine knows of mailboxes and their mail. Ids of doc sources and attachments are UUID texts; times are ours
-- unless a comment says whose.

create schema if not exists sync_engine;

create sequence sync_engine.full_due_mark;

-- One row per doc source. It outlives the source as a soft-deleted row, so that a late record of it starts no run.
create table sync_engine.sync_state (
    doc_source_id text primary key,
    tenant_id text,                             -- null until the worker has read the source from `doc-sources`
    source_version bigint not null default 0,   -- of `doc-sources`; it and `state` only rise
    state text not null default 'unknown' check (state in ('unknown', 'pending', 'active', 'paused', 'deleting')),
    grant_generation bigint not null default 0, -- of the grant that the next three are about; a newer one clears them
    refused_generation bigint,                  -- this grant was refused: no run before a newer one
    not_before timestamptz,
    attempts integer not null default 0,        -- failed in a row
    listed_until timestamptz,                   -- provider's clock: the mailbox-wide list has shown all before it
    last_full_at timestamptz,                   -- start of the last full run, written at its end
    full_due bigint,                            -- a mark of `full_due_mark`: a run clears only the one it began with
    synced_reported_at timestamptz,             -- the last `synced` event
    unannounced_messages integer not null default 0, -- found without a notification, not reported yet
    failure_reported_at timestamptz,            -- `provider_failing` was reported and `recovered` not yet
    missing_folders text[] not null default '{}', -- names of `folders` that the last full run did not find
    forgotten_at timestamptz                    -- the source was deleted, and its rows with it
);

-- Where the sync of one folder, or of a mailbox with a history (`history`, `relist`), stands. Tokens are the provider's
-- and are never parsed. `version` is what a writer must have read: a worker that lost its partition finds another one.
create table sync_engine.cursor (
    doc_source_id text not null,
    scope text not null,
    position text,                              -- null before the first round has ended
    page_token text,                            -- where the round under way goes on
    round_started_at timestamptz,               -- set while a round from nothing is under way
    version bigint not null default 1,
    updated_at timestamptz not null default now(),
    primary key (doc_source_id, scope)
);

-- The folders or labels of a mailbox as the last full run saw them: a hinted run need not ask which are watched.
create table sync_engine.folder (
    doc_source_id text not null,
    folder_id text not null,
    path text not null,
    well_known text,
    primary key (doc_source_id, folder_id)
);

-- One row per message that was processed; the primary key makes a mail that is listed twice one mail.
create table sync_engine.message (
    doc_source_id text not null,
    message_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,    -- pages of the API
    -- open: a stored part has no result yet. closed: each has one, or none was stored. parked: see parked_item.
    -- observed, removed: of `observation` sources, whose parts are never stored.
    state text not null check (state in ('open', 'closed', 'parked', 'observed', 'removed')),
    skip_reason text,                           -- why no part was stored, where no single part says it
    parked_reason text,                         -- why it rests as parked
    folder_id text,
    folder text,
    internet_message_id text,
    version text,                               -- the provider's etag or history id
    received_at timestamptz,                    -- provider's clock
    subject text,
    sender_address text,
    sender_name text,
    last_seen_at timestamptz not null default now(), -- last time a round from nothing listed it
    processed_at timestamptz not null default now(),
    closed_at timestamptz,
    primary key (doc_source_id, message_id)
);
create index message_by_tenant on sync_engine.message (tenant_id, seq desc);
create index message_by_source on sync_engine.message (doc_source_id, seq desc);
create index message_last_seen on sync_engine.message (doc_source_id, folder_id, last_seen_at) where state = 'observed';

-- Every part of a processed message, stored or skipped. `skip_reason` has the words of the samples' index.
create table sync_engine.message_part (
    doc_source_id text not null,
    message_id text not null,
    part_path text not null,
    position integer not null,
    stored boolean not null,
    skip_reason text,
    attachment_id text unique,
    filename text,
    content_type text,                          -- by the bytes where stored, else as the mail declares it
    size_bytes bigint,
    content_sha256 text,
    blob_key text,
    document_id text,                           -- these four from `ingestion-results`
    result_status text,
    result_reason text,
    result_at timestamptz,
    primary key (doc_source_id, message_id, part_path),
    foreign key (doc_source_id, message_id) references sync_engine.message on delete cascade,
    check (stored = (attachment_id is not null) and stored = (skip_reason is null))
);

-- Announces an upload in a transaction of its own before the first byte is written; the page transaction clears it.
create table sync_engine.blob_upload (
    attachment_id text primary key,
    doc_source_id text not null,
    blob_key text not null,
    announced_at timestamptz not null default now()
);
create index blob_upload_by_age on sync_engine.blob_upload (announced_at);

-- Messages that could not be processed. The cursor has moved past them; they are tried again until `next_attempt_at` is
-- null.
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
    outcome text check (outcome in ('done', 'retry', 'not_syncable', 'failed')), -- null: under way, or its process was killed
    detail text,
    new_messages integer not null default 0,
    unannounced_messages integer not null default 0,
    stored_parts integer not null default 0,
    parked_items integer not null default 0
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

-- Shared with an outside backstop job by contract: these columns and no others, whatever we would like to add.
create schema if not exists bo_airflow;

create table if not exists bo_airflow.email_ingestion_state (
    id bigint generated always as identity primary key,
    app_name text not null,
    message_id text not null,
    mailbox_email text,
    sender_email text,
    received_at timestamptz,
    subject text,
    status text not null check (status in ('processing', 'success', 'failed', 'skipped')),
    error_message text,
    attachments_processed integer not null default 0,
    trades_extracted integer not null default 0,
    archive_gcs_paths jsonb not null default '[]',
    worker_id text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (app_name, message_id)
);
