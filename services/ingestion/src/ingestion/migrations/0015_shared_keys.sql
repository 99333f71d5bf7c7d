-- The keys that several documents of a tenant have: who asks for possible duplicates goes through these, and not through
-- the keys of all documents.
create table ingestion.shared_key (
    tenant_id text not null,
    duplicate_key text not null,                  -- as in `ingestion.document`
    primary key (tenant_id, duplicate_key)
);
insert into ingestion.shared_key (tenant_id, duplicate_key)
select tenant_id, duplicate_key from ingestion.document
where duplicate_key is not null group by tenant_id, duplicate_key having count(*) > 1;
