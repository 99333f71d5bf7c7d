-- Pending doc sources expire: those that are old enough are looked for each hour.
create index doc_source_pending on subscription_manager.doc_source (created_at) where state = 'pending';
