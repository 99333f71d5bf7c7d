-- concurrently
-- Doc sources of one account are looked for over all tenants, by its address or its user, at each renewal of a watch that
-- they share: without this index all doc sources are gone through each time.
create index concurrently if not exists doc_source_by_provider_user on subscription_manager.doc_source
    (provider, provider_user_id) where provider_user_id is not null;
