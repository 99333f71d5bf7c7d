-- Shared with an outside backstop job by contract: these columns and no others, whatever we would like to add.
create schema if not exists bo_airflow;

create table if not exists bo_airflow.email_ingestion_state (
    id bigint generated always as identity primary key,
    app_name text not null,
    message_id text not null,
    mailbox_email text,
    sender_email text,
    received_at timestamptz,
    subject text,
    status text not null check (status in ('processing', 'success', 'failed', 'skipped')),
    error_message text,
    attachments_processed integer not null default 0,
    trades_extracted integer not null default 0,
    archive_gcs_paths jsonb not null default '[]',
    worker_id text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (app_name, message_id)
);
