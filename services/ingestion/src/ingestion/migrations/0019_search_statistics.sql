-- How amounts and dates are spread. Of an index with a condition Postgres uses no statistics: without these it takes any
-- range for a third of the documents, and goes through all of a tenant for one that hardly anything matches.
create statistics if not exists ingestion.document_amounts
    on (ingestion.read_amount(extraction ->> 'total_gross')) from ingestion.document;
create statistics if not exists ingestion.document_issue_dates
    on (((extraction ->> 'issue_date') collate "C")) from ingestion.document;
analyze ingestion.document;
