-- Which pages of a document were left: pictures that OCR did not come to, or is switched off for, and those that it read
-- in part. A default that is a constant writes no row.
alter table ingestion.document_evidence
    add column pages_not_read integer[] not null default '{}';  -- from 1
