-- The name of a supplier as an eye sees it: without what is invisible, and with letters that look alike as one. The key of
-- 0016 stays beside it, by which a release without this one knows suppliers.
alter table ingestion.document
    add column supplier_look_key text;            -- its name as it looks
