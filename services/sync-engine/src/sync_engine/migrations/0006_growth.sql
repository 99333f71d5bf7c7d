-- What keeps work bounded on big tables: housekeeping finds old rows by an index of their own, and messages whose results
-- never came are found by how long they have been waiting.
create index sync_run_idle_by_age on sync_engine.sync_run (started_at)
    where outcome = 'done' and new_messages = 0 and parked_items = 0;

alter table sync_engine.message
    add column reemitted_at timestamptz;  -- when its records of `attachments` were last sent again, as no result had come

create index message_open_by_age on sync_engine.message (coalesce(reemitted_at, processed_at)) where state = 'open';
