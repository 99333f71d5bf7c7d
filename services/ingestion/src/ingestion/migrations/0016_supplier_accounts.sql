-- Which accounts a supplier is known to be paid to: those of its completed documents. Null for any other document, so that
-- a document which is rejected, or corrected, takes its account along.
alter table ingestion.document
    add column supplier_vat_key text,             -- its VAT id, letters and digits only
    add column supplier_name_key text,            -- its name, folded, without the legal form
    add column supplier_iban text;                -- its account; empty: completed, and no account that can be compared
