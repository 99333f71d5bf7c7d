-- Pending orders, and the trades that executed them.

-- One row per order that trades are expected of. A trade has one order, an order any number of trades.
create table ingestion.pending_order (
    order_id text primary key,                   -- ours
    seq bigint generated always as identity,     -- the order of the API's pages
    tenant_id text not null,
    external_id text not null,                   -- the caller's: the same order sent again is the same row
    direction text not null check (direction in ('buy', 'sell')),  -- as `Direction` has it
    quantity numeric not null check (quantity > 0),  -- as ordered; of a bond its face value
    isin text,                                   -- of the security; one of the three is there
    wkn text,                                    -- German number of the security
    ticker text,                                 -- at an exchange
    instrument_keys text[] not null,             -- by which its trades are looked for: `isin:…`, `wkn:…`, `ticker:…`
    account text,                                -- account number of the order; null: of any account
    limit_price numeric,                         -- the worst price; null: at any price
    currency text,                               -- of `limit_price`
    ordered_on date not null,                    -- no trade before that day is one of it, within the tolerance
    valid_until date,                            -- its last day; null: as long as the tolerance says
    executed_quantity numeric not null default 0,  -- what its trades make up
    state text not null default 'unmatched',     -- how much of it was executed: `OrderState`
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (tenant_id, external_id)
);
create index pending_order_by_tenant on ingestion.pending_order (tenant_id, seq desc);
create index pending_order_by_state on ingestion.pending_order (tenant_id, state, seq desc);
create index pending_order_by_instrument on ingestion.pending_order using gin (instrument_keys);

-- All null of a trade that does not count, and until its orders were looked for.
alter table ingestion.trade
    add column order_match text,                 -- what is known of its order: `OrderMatch`
    add column order_id text,                    -- the pending order that it executed
    add column order_candidates text[],          -- pending orders of which it may have executed one
    add column decided_order_id text;            -- the pending order that a person named

-- What is to be matched anew, since an order or a trade of it changed.
create table ingestion.order_match_request (
    entry_id bigint generated always as identity primary key,  -- order of the changes
    tenant_id text not null,
    direction text not null,                     -- of orders and trades
    instrument_key text not null                 -- one of the security's
);
