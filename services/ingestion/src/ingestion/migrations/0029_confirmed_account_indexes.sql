-- concurrently
-- The accounts of a supplier that a person has confirmed: few, however many documents name them.
create index concurrently if not exists document_confirmed_by_vat
    on ingestion.document (tenant_id, supplier_vat_key, supplier_iban)
    where supplier_vat_key is not null and review_decision = 'confirmed';
create index concurrently if not exists document_confirmed_by_name
    on ingestion.document (tenant_id, supplier_name_key, supplier_iban)
    where supplier_name_key is not null and review_decision = 'confirmed';
create index concurrently if not exists document_confirmed_by_look
    on ingestion.document (tenant_id, supplier_look_key, supplier_iban)
    where supplier_look_key is not null and review_decision = 'confirmed';
