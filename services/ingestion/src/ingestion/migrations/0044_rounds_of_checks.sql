-- When the documents of a check were gone through to the end last: each worker looks once a minute, and the first of them
-- is enough. Null: never, or by a worker of an earlier release.
alter table ingestion.document_check add column round_ended_at timestamptz;
