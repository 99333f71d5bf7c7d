-- What people decide about documents. A decision stands whatever is read afterwards, and each version of a document is
-- kept.

alter table ingestion.document
    add column review_decision text                -- what a person decided; null: nobody has decided anything
        check (review_decision in ('confirmed', 'corrected', 'rejected')),
    add column reviewed_at timestamptz;           -- when that was

-- One row per version of a document that a review made or that another one replaced, and per reading that was kept
-- beside a decision. What was read first and still stands is only in `ingestion.document`.
create table ingestion.document_history (
    entry_id bigint generated always as identity primary key,  -- order of the entries
    document_id text not null references ingestion.document on delete cascade,  -- the document that this is a version of
    tenant_id text not null,
    version integer not null,                     -- `result_number` that the document had with it
    kind text not null                            -- how it came about; proposed: read, and kept beside a decision
        check (kind in ('read', 'proposed', 'confirmed', 'corrected', 'rejected')),
    status text not null,                         -- status of the document then; of a proposal: as it was read
    reason text,                                  -- skip or review reason
    document_type text,                           -- as classified, or as the reviewer says
    extraction jsonb,                             -- the fields then
    confidence double precision,                  -- of the reading
    reader text,                                  -- which reader read it
    changes jsonb,                                -- of a correction: each field with what was read and what was given
    comment text,                                 -- the reviewer's words
    reviewer text,                                -- the person, as the calling program names them
    api_key_id text,                              -- first digits of the SHA-256 of the API key that was used
    recorded_at timestamptz not null default now()  -- when this version came about
);
create index document_history_by_document on ingestion.document_history (document_id, entry_id desc);
