create schema if not exists mailroom_tokens;

-- One grant belongs to one doc source. Several of them may open the same account at the provider.
create table mailroom_tokens."grant" (
    doc_source_id uuid primary key,
    provider text not null,
    account_id text not null,
    sealed_tokens text,                -- key id and AES-256-GCM box (tokens/sealing.py); null once forgotten
    generation bigint not null,        -- rises with each consent; an older one's result means nothing to a newer
    scopes text[] not null default '{}',
    expires_at timestamptz not null,   -- of the access token
    refreshed_at timestamptz not null,
    refused_at timestamptz,            -- the provider refused this generation
    created_at timestamptz not null default now()
);

create index grant_by_account on mailroom_tokens."grant" (provider, account_id);
