-- concurrently
create index concurrently if not exists document_by_supplier_look
    on ingestion.document (tenant_id, supplier_look_key, supplier_iban) where supplier_look_key is not null;
-- Those that were completed before there was this key, or by a worker of an earlier release.
create index concurrently if not exists document_without_supplier_look on ingestion.document (seq)
    where supplier_name_key is not null and supplier_look_key is null;
