create schema if not exists subscription_manager;

-- One connected origin of documents. A deleted one stays as a soft-deleted row (state `deleted`): its id and version are
-- needed to repeat its tombstone, and no API shows it any more.
create table subscription_manager.doc_source (
    id uuid primary key,                    -- doc source id, ours
    tenant_id text not null,
    provider text not null,
    profile text not null,                  -- what it is read for: invoice, contract_note, observation
    access text not null,                   -- delegated (a user's consent) or application
    -- Where it is in its life; trouble with the provider is in `connection_status`. deleted: only id and version are kept.
    state text not null check (state in ('pending', 'active', 'paused', 'deleting', 'deleted')),
    published_version bigint not null,      -- of its record in `doc-sources`; rises when that record changes
    -- the provider's id of the user; application access: the mailbox's address; null before consent
    provider_user_id text,
    provider_tenant text,                   -- Entra tenant id or domain of a Google Workspace; null: none
    folders text[] not null default '{}',   -- names or paths to sync; empty: the default ones
    start_at timestamptz,                   -- mail received before is never stored
    grant_generation bigint not null default 0,  -- of the consent in use; rises with each
    -- SHA-256 of each client state that the gateway accepts, those of replaced subscriptions too, and its expiry
    client_state_hashes jsonb not null default '[]',
    -- when its subscription is checked next, or the lease of a check under way ends; null: only an event makes it due
    next_check_at timestamptz,
    failed_attempts int not null default 0, -- since the last success
    next_backstop_at timestamptz,           -- when the next backstop sync is requested
    provider_ended_at timestamptz,          -- deleting: nothing of it is left at the provider
    sync_rows_deleted_at timestamptz,       -- deleting: sync-engine has removed its rows, or never had any
    created_at timestamptz not null
);

create unique index doc_source_once_per_user on subscription_manager.doc_source
    (tenant_id, provider, provider_user_id, profile) where state <> 'deleted';
create index doc_source_by_tenant on subscription_manager.doc_source (tenant_id, created_at, id) where state <> 'deleted';
create index doc_source_by_next_check on subscription_manager.doc_source (next_check_at) where next_check_at is not null;
create index doc_source_by_next_backstop on subscription_manager.doc_source (next_backstop_at) where state = 'active';

-- The mailbox of a doc source and the health of its connection.
create table subscription_manager.doc_source_email (
    doc_source_id uuid primary key references subscription_manager.doc_source (id),
    provider text not null,
    address text,                           -- of the mailbox, as the provider spells it
    aliases text[] not null default '{}',   -- further addresses of the mailbox
    provider_user_id text,                  -- the same value as in `doc_source`
    -- active: no trouble is known; null before consent
    connection_status text check (
        connection_status in ('active', 'token_refresh_failed', 'subscription_expired', 'provider_error')
    ),
    connection_reason text,                 -- why the status is not active
    current_error text,                     -- of a step at the provider or from sync-engine; null: it works
    last_successful_sync_at timestamptz     -- when sync-engine last reported `synced`
);

create index doc_source_email_by_address on subscription_manager.doc_source_email (provider, lower(address));

-- The current subscription at the provider; a replaced one has no row.
create table subscription_manager.subscription_state (
    doc_source_id uuid primary key references subscription_manager.doc_source (id),
    subscription_id text not null,          -- Graph's id; Gmail has none: the Pub/Sub topic
    resource text not null,                 -- path of the API that it watches, as `/gmail/v1/users/me`
    notification_url text,                  -- where changes are posted to
    lifecycle_url text,                     -- where lifecycle events are posted to
    expires_at timestamptz not null,        -- when it ends unless renewed
    status text not null check (status in ('active', 'expired', 'removed')),  -- removed: ended by the provider
    client_state_sha256 text,               -- of the secret that the provider repeats in each notification
    created_or_renewed_at timestamptz not null,  -- or taken over; renewals keep the provider's minimum gap between them
    renewal_requested_at timestamptz,       -- the provider asked for a renewal
    renewal_count int not null default 0    -- since it was created
);

create index subscription_by_id on subscription_manager.subscription_state (subscription_id);

-- One link that was handed out, and the browser flow it opened. Ticket, state and cookie are stored as hashes only.
create table subscription_manager.oauth_request (
    id uuid primary key,                    -- flow id, which names the browser's cookie
    doc_source_id uuid not null references subscription_manager.doc_source (id),
    ticket_sha256 bytea not null unique,    -- of the single-use ticket in the link
    expires_at timestamptz not null,        -- of the link
    consent_started_at timestamptz,            -- the button was pressed; opening the link changes nothing
    state_sha256 bytea unique,              -- of the OAuth `state`
    cookie_sha256 bytea,                    -- of the cookie that binds the flow to one browser
    sealed_flow_secrets text,               -- code verifier and nonce; kept as long as the row
    flow_expires_at timestamptz,            -- the provider's answer is refused after it
    finished_at timestamptz                 -- the callback came; whatever it brought, it comes once
);

create index oauth_request_by_doc_source on subscription_manager.oauth_request (doc_source_id);

create table subscription_manager.outbox (
    id bigint generated always as identity primary key,
    topic text not null,
    key text not null,
    value bytea,
    headers jsonb not null default '{}',
    aggregate text not null,
    created_at timestamptz not null default now()
);
