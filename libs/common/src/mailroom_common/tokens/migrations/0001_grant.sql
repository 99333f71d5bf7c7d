create schema if not exists mailroom_tokens;

-- One grant belongs to one doc source. Several of them may open the same account at the provider.
create table mailroom_tokens."grant" (
    doc_source_id uuid primary key,
    provider text not null,
    provider_user_id text not null,    -- who consented, by the provider's id; empty once forgotten
    sealed_tokens text,                -- key id and AES-256-GCM box (tokens/sealing.py); null once forgotten
    grant_generation bigint not null,  -- rises with each consent, not with a refresh; results of older ones are dropped
    scopes text[] not null default '{}',  -- what the user consented to
    access_expires_at timestamptz not null,  -- when the access token expires, by the provider's word
    token_issued_at timestamptz not null, -- last time that the provider issued an access token, at a consent or a refresh
    refused_at timestamptz,            -- the provider refused this generation
    created_at timestamptz not null default now()
);

create index grant_by_provider_user on mailroom_tokens."grant" (provider, provider_user_id);
