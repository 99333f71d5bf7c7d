-- An attached mail that only forwards text is no part of its mail, and must not be fetched and opened again with each of
-- the mail's versions.
alter table sync_engine.message
    -- parts that were opened as containers and hold no file: `[{part_path, filename, size_bytes}]`
    add column empty_parts jsonb not null default '[]';
