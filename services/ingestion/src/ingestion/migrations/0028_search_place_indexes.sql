-- concurrently
-- Words, and the stretches that their documents lie in: what has a word within a stretch is found without the others
-- that have it. In place of an index of the words alone.
create index concurrently if not exists document_words_by_place
    on ingestion.document_words using gin (words, ingestion.list_seq_buckets(seq))
    -- Each step of a search would go through all that is put off.
    with (fastupdate = off);
drop index concurrently if exists ingestion.document_words_by_word;
-- Words without a place: none, once the workers have been through them.
create index concurrently if not exists document_words_unplaced on ingestion.document_words (document_id)
    where seq is null;
-- The first few documents with a key, in order, however many have it.
create index concurrently if not exists document_by_key_in_order
    on ingestion.document (tenant_id, duplicate_key, seq) where duplicate_key is not null;
drop index concurrently if exists ingestion.document_by_duplicate_key;
-- Of a currency that few documents have, whatever their amounts.
create index concurrently if not exists document_by_currency
    on ingestion.document (tenant_id, (extraction ->> 'currency'), seq desc) where extraction ->> 'currency' is not null;
