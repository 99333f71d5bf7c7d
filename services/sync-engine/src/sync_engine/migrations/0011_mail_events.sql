-- What happened to the mails of observed mailboxes, as `mail-events` has it, for as long as `MAILROOM_MAIL_EVENT_DAYS`:
-- to be asked for, and sent again.
create table sync_engine.mail_event (
    event_id text primary key,                  -- of the record in `mail-events`
    seq bigint generated always as identity,    -- order of events that were recorded in the same moment
    doc_source_id text not null,
    tenant_id text not null,
    kind text not null,                         -- received, changed, moved or removed
    message_id text not null,                   -- the provider's id of the mail
    event jsonb not null,                       -- the fields of the event, by their names
    -- when the row was written, by the clock of Postgres, under the lock of its doc source: its events lie in order
    recorded_at timestamptz not null default clock_timestamp()
);
create index mail_event_by_tenant on sync_engine.mail_event (tenant_id, recorded_at, seq);
create index mail_event_by_source on sync_engine.mail_event (doc_source_id, recorded_at, seq);
create index mail_event_by_message on sync_engine.mail_event (message_id);
create index mail_event_by_age on sync_engine.mail_event (recorded_at);
