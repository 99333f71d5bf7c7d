create schema if not exists subscription_manager;

-- One connected origin of documents. A deleted one stays as a soft-deleted row (state `deleted`): its id and version are
-- needed to repeat its tombstone, and no API shows it any more.
create table subscription_manager.doc_source (
    id uuid primary key,
    tenant_id text not null,
    provider text not null,
    profile text not null,
    access text not null,
    state text not null check (state in ('pending', 'active', 'paused', 'deleting', 'deleted')),
    version bigint not null,                -- of what `doc-sources` says; rises with each change of it
    provider_user_id text,                  -- null before consent; application access: the address
    provider_tenant text,
    folders text[] not null default '{}',
    start_at timestamptz,
    grant_generation bigint not null default 0,
    client_states jsonb not null default '[]',
    next_check_at timestamptz,              -- when its subscription is checked next; null: only an event makes it due
    failed_attempts int not null default 0, -- since the last success
    next_backstop_at timestamptz,           -- when the next backstop sync is requested
    provider_ended_at timestamptz,          -- deleting: nothing of it is left at the provider
    forgotten_at timestamptz,               -- deleting: sync-engine has removed its rows
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
    address text,
    aliases text[] not null default '{}',
    provider_user_id text,
    connection_status text check (
        connection_status in ('active', 'token_refresh_failed', 'subscription_expired', 'provider_error')
    ),
    connection_reason text,
    last_error text,
    last_successful_sync_at timestamptz
);

create index doc_source_email_by_address on subscription_manager.doc_source_email (provider, lower(address));

-- The current subscription at the provider; a replaced one has no row.
create table subscription_manager.subscription_state (
    doc_source_id uuid primary key references subscription_manager.doc_source (id),
    subscription_id text not null,
    resource text not null,
    notification_url text,
    lifecycle_url text,
    expires_at timestamptz not null,
    status text not null check (status in ('active', 'expired', 'removed')),
    client_state_sha256 text,
    renewed_at timestamptz not null,        -- or created; renewals keep the provider's minimum gap between them
    renewal_requested_at timestamptz,       -- the provider asked for a renewal
    renewal_count int not null default 0
);

create index subscription_by_id on subscription_manager.subscription_state (subscription_id);

-- One link that was handed out, and the browser flow it opened. Ticket, state and cookie are stored as hashes only.
create table subscription_manager.oauth_request (
    id uuid primary key,
    doc_source_id uuid not null references subscription_manager.doc_source (id),
    ticket_sha256 bytea not null unique,
    expires_at timestamptz not null,
    redeemed_at timestamptz,                -- the button was pressed
    state_sha256 bytea unique,
    cookie_sha256 bytea,
    sealed_secrets text,                    -- code verifier and nonce
    flow_expires_at timestamptz,
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
