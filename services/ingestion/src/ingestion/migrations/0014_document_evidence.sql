-- Where on its pages a document says what was read of it: one row per document of which something was read.
create table ingestion.document_evidence (
    document_id text primary key references ingestion.document on delete cascade,  -- the document that was read
    boxes jsonb not null                          -- [{field, page, x, y, width, height}], pages from 1, in points
);
