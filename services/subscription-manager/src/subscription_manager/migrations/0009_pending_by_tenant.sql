-- How many of a tenant's doc sources wait for a consent is asked with each new one.
create index doc_source_pending_by_tenant on subscription_manager.doc_source (tenant_id) where state = 'pending';
