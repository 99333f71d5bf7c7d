-- A blob that the store does not delete is tried again a day later, and holds up none behind it.
alter table ingestion.upload
    add column delete_failed_at timestamptz;      -- when the store last refused to delete it; null: it never did
