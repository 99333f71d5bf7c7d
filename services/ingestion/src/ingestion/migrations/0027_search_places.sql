-- The stretches of 1,024, of 16,384 and of 262,144 positions that a position lies in, each as a number of its own: the
-- length in the uppermost bits, before which of them it is.
create function ingestion.list_seq_buckets(seq bigint) returns bigint[]
    language sql immutable parallel safe
    return case when seq is not null
                then array[(10::bigint << 56) | (seq >> 10), (14::bigint << 56) | (seq >> 14),
                           (18::bigint << 56) | (seq >> 18)] end;

-- The documents whose key another document of the tenant has: a page of possible duplicates is read from it in order.
-- No reference: whoever finishes one document writes the row of another, and must not wait for that document's lock.
create table ingestion.shared_document (
    tenant_id text not null,
    seq bigint not null,                          -- of the document
    primary key (tenant_id, seq)
);
insert into ingestion.shared_document (tenant_id, seq)
select tenant_id, document.seq from ingestion.shared_key join ingestion.document using (tenant_id, duplicate_key);

-- How many documents have a currency: without these Postgres takes any for one in 200.
create statistics if not exists ingestion.document_currencies on ((extraction ->> 'currency')) from ingestion.document;
analyze ingestion.document;

-- Last, since whoever writes the words of a document waits from here on.
-- Where the words of a document stand in the order of documents, so that they are looked for a stretch at a time.
alter table ingestion.document_words
    add column seq bigint;                        -- of the document; null: not yet known, of a row of an earlier release
