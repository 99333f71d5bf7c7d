-- What documents are looked for by. Each index begins with the tenant, and ends with `seq` where a page of the list is
-- read from it in order.

alter table ingestion.document
    -- digest of supplier, number, date, currency and total; null where one of them is unknown. Equal ones may be one
    -- invoice that came in other bytes.
    add column duplicate_key text;

-- The words of a document, each behind its tenant: with those of its mail, in a table of their own, since a lease that is
-- renewed would otherwise write them all again.
create table ingestion.document_words (
    document_id text primary key references ingestion.document on delete cascade,  -- the document that has them
    words tsvector not null                       -- as `domain/search_words.py` writes them
);

-- The total as a number; null for what is none. Text of a parser process is not trusted to be one.
create function ingestion.read_amount(amount text) returns numeric
    language sql immutable parallel safe
    return case when amount ~ '^-?[0-9]{1,30}(\.[0-9]{1,30})?$' then amount::numeric end;
