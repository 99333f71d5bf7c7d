-- A part that fails is parked by itself: the other parts of its mail become documents at once.
alter table sync_engine.message_part
    add column parked_reason text,              -- word for why it could not be stored; null: stored, or skipped
    add column parked_detail text,              -- sentence of the last error
    add column parked_seq bigint,               -- order of parking, of the sequence of `parked_item`
    add column attempts integer not null default 0, -- how often it was tried and failed
    add column first_failed_at timestamptz,     -- when it was parked
    add column last_failed_at timestamptz,      -- when it was last tried
    add column next_attempt_at timestamptz;     -- when it is tried again
alter table sync_engine.message_part drop constraint message_part_check;
alter table sync_engine.message_part add constraint message_part_check
    check (stored = (attachment_id is not null) and num_nonnulls(attachment_id, skip_reason, parked_reason) = 1);
create index message_part_parked on sync_engine.message_part (doc_source_id, next_attempt_at)
    where parked_reason is not null;

-- What rested for ever is tried again within a day, spread out; what is parked is shown as a message from the start.
update sync_engine.parked_item set next_attempt_at = now() + random() * interval '1 day' where next_attempt_at is null;
insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, parked_reason)
select doc_source_id, message_id, tenant_id, 'parked', reason from sync_engine.parked_item
on conflict do nothing;
