-- Which documents, in their order, were looked at last for whether other documents still are a reason for their review.
insert into ingestion.document_check (name, checked_seq) values ('ledger-reasons', 0) on conflict do nothing;
