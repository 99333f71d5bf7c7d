-- concurrently
-- Doc sources are looked up by address, in letters of either case that no locale changes: in a Turkish one `i` is no
-- small `I`. The former index began with the provider, and no statement used it.
create index concurrently if not exists doc_source_email_by_folded_address on subscription_manager.doc_source_email
    (lower(address collate "C"));
drop index concurrently if exists subscription_manager.doc_source_email_by_address;
