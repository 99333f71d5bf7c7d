-- One row per password that somebody gave for a locked document. The password itself is kept sealed until the document
-- was read with it, for a day at most; the row stays, as evidence and for the limits.
create table ingestion.document_password (
    password_id bigint generated always as identity primary key,  -- order in which they were given
    document_id text not null references ingestion.document on delete cascade,  -- the document that it is to open
    tenant_id text not null,
    sealed text,                                  -- under MAILROOM_TOKEN_KEYS, bound to the document; null: forgotten
    api_key_id text not null,                     -- first digits of the SHA-256 of the API key that gave it
    given_at timestamptz not null default now()   -- when the request came
);
create index document_password_by_document on ingestion.document_password (document_id, password_id desc);
create index document_password_by_tenant on ingestion.document_password (tenant_id, given_at);
create index document_password_sealed on ingestion.document_password (given_at) where sealed is not null;
