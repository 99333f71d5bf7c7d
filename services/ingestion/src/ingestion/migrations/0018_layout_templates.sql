-- What reviews teach: where a supplier's layout has its values. Of one tenant, and gone with the document that taught it.
create table ingestion.layout_template (
    template_id text primary key,                 -- stays the same when another review of the layout replaces it
    tenant_id text not null,
    marks bigint[] not null,                      -- of its layout; layouts that are alike share some
    template jsonb not null check (pg_column_size(template) <= 65536),  -- as `domain/layout_template.py` writes it
    document_id text not null references ingestion.document on delete cascade,  -- the newest document that taught it
    learned_at timestamptz not null default now() -- when that was
);
create index layout_template_by_tenant on ingestion.layout_template (tenant_id, learned_at desc);
create index layout_template_by_document on ingestion.layout_template (document_id);

-- Decided documents that a template is still to be learned from: the API, which decides, opens no document.
create table ingestion.template_lesson (
    document_id text primary key references ingestion.document on delete cascade,  -- the document that was decided
    tenant_id text not null,
    version integer not null,                     -- `result_number` that the decision gave it
    attempts integer not null default 0,          -- claims; a claim raises it, not a failure
    next_attempt_at timestamptz not null default now()  -- claimable from then on; of a claimed one the end of its lease
);
create index template_lesson_by_time on ingestion.template_lesson (next_attempt_at);
