-- What sync-engine knows of mailboxes and their mail. Ids of doc sources and attachments are UUID texts; times are ours
-- unless a comment says whose.

create schema if not exists sync_engine;

create sequence sync_engine.full_due_mark_number;

-- One row per doc source. It outlives the source as a soft-deleted row, so that a late record of it starts no run.
create table sync_engine.sync_state (
    doc_source_id text primary key,
    tenant_id text,                             -- null until the worker has read the source from `doc-sources`
    source_version bigint not null default 0,   -- of `doc-sources`; an older record changes nothing
    -- the doc source's state in its newest record, not how the sync is going
    source_state text not null default 'unknown'
        check (source_state in ('unknown', 'pending', 'active', 'paused', 'deleting')),
    -- of the grant that `refused_generation`, `not_before` and `failed_attempts` are about; a newer one clears them
    grant_generation bigint not null default 0,
    refused_generation bigint,                  -- this grant was refused: no run before a newer one
    not_before timestamptz,                     -- no run before then
    failed_attempts integer not null default 0, -- failed runs in a row; a throttled one does not count
    -- provider's clock: the list of hinted runs has shown what was modified before it
    modified_listed_until timestamptz,
    last_completed_full_started_at timestamptz, -- of the last run that read all cursors, written at its end
    -- a number of the sequence; null: no full run was asked for. A run clears only the one that it began with.
    full_due_mark bigint,
    synced_reported_at timestamptz,             -- the last `synced` event
    -- found by a backstop sync though no notification told of them, since the last `synced` event
    unannounced_messages integer not null default 0,
    failure_reported_at timestamptz,            -- `provider_failing` was reported and `recovered` not yet
    missing_folders text[] not null default '{}', -- names of `folders` that the last full run did not find
    forgotten_at timestamptz                    -- the source was deleted, and its rows with it
);

-- Where the sync of one folder, or of a mailbox with a history (`history`, `relist`), stands. Tokens are the provider's
-- and are never parsed. `version` is what a writer must have read: a worker that lost its partition finds another one.
create table sync_engine.cursor (
    doc_source_id text not null,
    scope text not null,                        -- folder id, or `history` or `relist`
    position text,                              -- null before the first round has ended
    page_token text,                            -- where the round under way goes on
    relist_started_at timestamptz,          -- set while a round from nothing is under way, of no other round
    version bigint not null default 1,          -- rises with each write; a writer that read an older one fails
    updated_at timestamptz not null default now(),
    primary key (doc_source_id, scope)
);

-- The folders or labels of a mailbox as the last full run saw them: a hinted run need not ask which are watched.
create table sync_engine.folder (
    doc_source_id text not null,
    folder_id text not null,                    -- the provider's id
    path text not null,                         -- names from the root, joined by /
    well_known text,                            -- the provider's name for a standard folder, as inbox
    primary key (doc_source_id, folder_id)
);

-- One row per message that was processed; the primary key makes a mail that is listed twice one mail.
create table sync_engine.message (
    doc_source_id text not null,
    message_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,    -- pages of the API
    -- open: a stored part has no result of ingestion yet. closed: each has one, or none was stored. parked: see
    -- parked_item.
    -- observed, removed: of `observation` sources, whose parts are never stored.
    state text not null check (state in ('open', 'closed', 'parked', 'observed', 'removed')),
    skip_reason text,                           -- why no part was stored; null where the parts say it themselves
    parked_reason text,                         -- why it is parked
    folder_id text,                             -- the provider's id of the folder it was in
    folder text,                                -- path of that folder (Outlook), id of the label or ARCHIVE (Gmail)
    internet_message_id text,
    version text,                               -- the provider's etag or history id
    received_at timestamptz,                    -- provider's clock
    subject text,                               -- as the mail says, decoded
    sender_address text,                        -- address in `From`
    sender_name text,                           -- display name in `From`
    -- written or changed, or listed by a round from nothing; used for `observation` sources only
    last_seen_at timestamptz not null default now(),
    processed_at timestamptz not null default now(),  -- when it was judged and its parts stored or skipped
    closed_at timestamptz,                      -- when all results were in; at once if no part was stored
    primary key (doc_source_id, message_id)
);
create index message_by_tenant on sync_engine.message (tenant_id, seq desc);
create index message_by_source on sync_engine.message (doc_source_id, seq desc);
create index message_by_full_listing on sync_engine.message (doc_source_id, folder_id, last_seen_at)
    where state = 'observed';

-- Every part of a processed message, stored or skipped. `skip_reason` has the words of the samples' index.
create table sync_engine.message_part (
    doc_source_id text not null,
    message_id text not null,
    part_path text not null,                    -- Outlook: the provider's attachment id; Gmail: part number, as 1.2
    position integer not null,                  -- order of the parts in the mail
    stored boolean not null,                    -- its bytes are in the blob store
    skip_reason text,                           -- why it is not stored; null when it is
    attachment_id text unique,                  -- derived from source, message and part; null when it is not stored
    filename text,                              -- as the mail says, decoded
    content_type text,                          -- detected in the bytes when stored, else as the mail declares it
    size_bytes bigint,                          -- of the bytes when stored, else what the provider says
    content_sha256 text,                        -- of the stored bytes
    blob_key text,                              -- where the bytes are in the blob store
    document_id text,                           -- these four from `ingestion-results`
    result_status text,                         -- completed, needs_review, skipped or failed
    result_reason text,                         -- why it is not completed
    result_occurred_at timestamptz,             -- when ingestion made the result, which may be long before it came here
    primary key (doc_source_id, message_id, part_path),
    foreign key (doc_source_id, message_id) references sync_engine.message on delete cascade,
    check (stored = (attachment_id is not null) and stored = (skip_reason is null))
);

-- Records an upload in a transaction of its own before the first byte is written; the page transaction clears it.
create table sync_engine.blob_upload (
    attachment_id text primary key,             -- attachment whose bytes are uploaded
    doc_source_id text not null,
    blob_key text not null,                     -- where they are written to
    upload_started_at timestamptz not null default now()  -- just before the first byte
);
create index blob_upload_by_age on sync_engine.blob_upload (upload_started_at);

-- Messages that could not be processed. The cursor has moved past them; they are tried again in growing intervals, and
-- only by a run that a person or a lifecycle event asked for once `next_attempt_at` is null.
create table sync_engine.parked_item (
    doc_source_id text not null,
    message_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,
    reason text not null,                       -- word for why it could not be stored
    detail text,                                -- sentence of the last error
    attempts integer not null default 1,        -- how often it was tried
    first_failed_at timestamptz not null,       -- when it was parked
    last_failed_at timestamptz not null,        -- when it was last tried
    next_attempt_at timestamptz,                -- null: at rest, tried again only by a run with a full_due_mark
    primary key (doc_source_id, message_id)
);
create index parked_item_by_tenant on sync_engine.parked_item (tenant_id, seq desc);

-- One row per sync run; old uneventful ones are deleted.
create table sync_engine.sync_run (
    run_id text primary key,                    -- random
    doc_source_id text not null,
    tenant_id text not null,
    seq bigint generated always as identity,
    -- all_cursors: reads the changes since each cursor; recent_changes: one list of what was modified lately, no cursor moves but
    -- that of a Gmail history
    kind text not null check (kind in ('all_cursors', 'recent_changes')),
    reasons text[] not null,                    -- why the sync was asked for
    started_at timestamptz not null,            -- when the run began
    finished_at timestamptz,                    -- null: under way, or cut off
    outcome text check (outcome in ('done', 'retry', 'not_syncable', 'failed')), -- null: under way, or its process was killed
    detail text,                                -- sentence of the error
    new_messages integer not null default 0,    -- messages seen for the first time
    unannounced_messages integer not null default 0,  -- of those, found by a backstop and told of by no notification
    stored_parts integer not null default 0,    -- parts whose bytes were stored
    parked_items integer not null default 0     -- messages that could not be stored
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

create schema if not exists bo_airflow;

-- Shared with an outside backstop job by contract: these columns and no others. That job writes it, no code of ours.
create table if not exists bo_airflow.email_ingestion_state (
    id bigint generated always as identity primary key,  -- order of insertion
    app_name text not null,                     -- which job claims; `MAILROOM_STATE_APP_NAME`
    message_id text not null,                   -- named by the contract, which does not say whose id
    mailbox_email text,                         -- address of the mailbox
    sender_email text,                          -- address in `From`
    received_at timestamptz,                    -- provider's clock
    subject text,                               -- subject of the mail
    -- processing: claimed; the others are final until claimed again
    status text not null check (status in ('processing', 'success', 'failed', 'skipped')),
    error_message text,                         -- why it failed or was skipped
    attachments_processed integer not null default 0,  -- how many attachments were stored
    trades_extracted integer not null default 0,  -- how many trades were read
    archive_gcs_paths jsonb not null default '[]',  -- paths of the archived copies
    worker_id text,                             -- who claimed it
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (app_name, message_id)
);
