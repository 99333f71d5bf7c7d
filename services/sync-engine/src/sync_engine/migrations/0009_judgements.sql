-- A message of which nothing is stored, or something is parked, is judged anew when its place or its parts change.
alter table sync_engine.message
    add column judgement_number integer not null default 1;  -- how often it was judged; compared and set by each judgement

-- Messages that a change of their labels showed, and that were fetched only to find that they are from before the start.
create table sync_engine.passed_over_message (
    doc_source_id text not null,
    message_id text not null,
    received_at timestamptz not null,           -- provider's clock; judged again once the start is moved to before it
    primary key (doc_source_id, message_id)
);
