-- What a tenant's documents have cost at the language model, by day (UTC), so that all workers together keep its limits.
create table ingestion.model_spending (
    tenant_id text not null,
    day date not null,                           -- in UTC, when the model was asked
    tokens bigint not null,                      -- read and written, those reserved by calls under way included
    cost double precision not null,              -- in the currency of MAILROOM_LLM_INPUT_PRICE
    primary key (tenant_id, day)
);
