-- concurrently
-- The trades that a tenant has decided about: of a key with very many trades they are judged beside the first ones, under
-- the lock of the ledger, and decisions of all tenants are kept for ever.
create index concurrently if not exists trade_decision_by_tenant on ingestion.trade_decision (tenant_id);
