-- One row per upload by hand that is being written to the blob store. Deleted once its attachment is recorded; what is
-- older than a day was cut off, and its blob is deleted with it.
create table ingestion.upload (
    attachment_id text primary key,               -- the attachment that the upload becomes
    blob_key text not null,                       -- where its bytes are written
    started_at timestamptz not null default now() -- before the first byte
);
create index upload_by_age on ingestion.upload (started_at);
