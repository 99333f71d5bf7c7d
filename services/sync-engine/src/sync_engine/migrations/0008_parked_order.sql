-- The API lists what is parked, newest first: without an index each page would sort the parked parts of all tenants.
create index message_part_parked_order on sync_engine.message_part (parked_seq desc) where parked_reason is not null;
