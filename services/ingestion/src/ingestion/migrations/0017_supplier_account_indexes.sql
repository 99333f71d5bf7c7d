-- concurrently
create index concurrently if not exists document_by_supplier_vat
    on ingestion.document (tenant_id, supplier_vat_key, supplier_iban) where supplier_vat_key is not null;
create index concurrently if not exists document_by_supplier_name
    on ingestion.document (tenant_id, supplier_name_key, supplier_iban) where supplier_name_key is not null;
-- Those that were completed before there were these columns, or by a worker of an earlier release: none, once the workers
-- have been through them.
create index concurrently if not exists document_without_supplier_keys on ingestion.document (seq)
    where status = 'completed' and supplier_iban is null and extraction ->> 'iban' is not null;
