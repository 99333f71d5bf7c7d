-- A document that was read again to no other result says so: nothing else of it shows that there was another reading.
alter table ingestion.document
    add column last_reread jsonb;                 -- how the last other reading ended (kind, version, status, reason, reader, recorded_at); null: none, or it shows as a version or a proposal
