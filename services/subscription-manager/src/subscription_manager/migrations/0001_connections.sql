create schema if not exists subscription_manager;

-- One connected origin of documents. A deleted one stays as a soft-deleted row (state `deleted`): its id and version are
-- needed to repeat its tombstone, and no API shows it any more.
create table subscription_manager.doc_source (
    id uuid primary key,                    -- doc source id, ours
    tenant_id text not null,
    provider text not null,
    profile text not null,                  -- what it is read for: invoice, contract_note, observation
    access text not null,                   -- delegated (a user's consent) or application
    state text not null check (state in ('pending', 'active', 'paused', 'deleting', 'deleted')),  -- deleted: only id and version are kept
    version bigint not null,                -- of what `doc-sources` says; rises with each change of it
    provider_user_id text,                  -- null before consent; application access: the address
    provider_tenant text,                   -- the provider's tenant that the mailbox belongs to
    folders text[] not null default '{}',   -- names or paths to sync; empty: the default ones
    start_at timestamptz,                   -- mail received before is never stored
    grant_generation bigint not null default 0,  -- of the consent in use; rises with each
    -- digests of the client states that the gateway accepts, with their expiry
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
    address text,                           -- of the mailbox, as the provider spells it
    aliases text[] not null default '{}',   -- further addresses of the mailbox
    provider_user_id text,                  -- the provider's id of the mailbox user
    -- null before consent
    connection_status text check (
        connection_status in ('active', 'token_refresh_failed', 'subscription_expired', 'provider_error')
    ),
    connection_reason text,                 -- why the status is not active
    last_error text,                        -- of the last failed step at the provider
    last_successful_sync_at timestamptz     -- when sync-engine last reported `synced`
);

create index doc_source_email_by_address on subscription_manager.doc_source_email (provider, lower(address));

-- The current subscription at the provider; a replaced one has no row.
create table subscription_manager.subscription_state (
    doc_source_id uuid primary key references subscription_manager.doc_source (id),
    subscription_id text not null,          -- the provider's id
    resource text not null,                 -- what it watches
    notification_url text,                  -- where changes are posted to
    lifecycle_url text,                     -- where lifecycle events are posted to
    expires_at timestamptz not null,        -- when it ends unless renewed
    status text not null check (status in ('active', 'expired', 'removed')),  -- removed: ended by the provider
    client_state_sha256 text,               -- of the secret that the provider repeats in each notification
    renewed_at timestamptz not null,        -- or created; renewals keep the provider's minimum gap between them
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
    redeemed_at timestamptz,                -- the button was pressed
    state_sha256 bytea unique,              -- of the OAuth `state`
    cookie_sha256 bytea,                    -- of the cookie that binds the flow to one browser
    sealed_secrets text,                    -- code verifier and nonce
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
