-- A blob that the store does not delete is tried again a day later, and holds up none behind it.
alter table sync_engine.blob_upload
    add column delete_failed_at timestamptz;    -- when the store last refused to delete it; null: it never did

comment on column sync_engine.parked_item.first_failed_at is
    'when it was parked; of one that is gone by now, since when the provider has not had it';
comment on column sync_engine.message_part.first_failed_at is
    'when it was parked; of one that is gone by now, since when the provider has not had it';
