-- The path of the archive changes while a document is finished, and that document then waits for the ledger, whose holder
-- refers to other documents: neither may wait for the other. The index of 0032 keeps two copies from having one path.
alter table ingestion.document drop constraint if exists document_archive_path_key;
