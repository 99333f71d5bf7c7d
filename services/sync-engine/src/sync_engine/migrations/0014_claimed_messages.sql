-- Renewing claims looks up the open message of each; without this it would read all open messages.
create index message_open_by_state_id on sync_engine.message (state_id) where state = 'open' and state_id is not null;
