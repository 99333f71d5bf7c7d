-- The ledger of trades: what the documents of a tenant state, over all its mailboxes, and which of it counts. Written in
-- the transactions that finish or decide a document, one of a tenant at a time (an advisory lock).

-- Gives the places of confirmed trades, under the lock of their tenant.
create sequence ingestion.trade_confirmation;

-- One row per trade of a document; a trade that several documents state has several, of which one counts.
create table ingestion.trade (
    trade_id text primary key,                   -- stays when the document is read again and states the same trade
    seq bigint generated always as identity,     -- the order of the API's pages
    tenant_id text not null,
    doc_source_id text not null,                 -- of the document
    document_id text not null references ingestion.document on delete cascade,  -- the document that states it
    document_type text,                          -- of the document: a note or a statement
    content_sha256 text not null,                -- of the document's bytes: the same file in two mailboxes
    position integer not null,                   -- its place in the document, from 0
    match_key text not null,                     -- what all statements of one trade share: direction, quantity, day
    fields jsonb not null,                       -- the trade as `domain/trade.py` has it
    is_cancellation boolean not null,            -- the document takes this trade back
    isin text,                                   -- of `fields`, as text in capitals
    instrument_keys text[] not null,             -- by which its pending order is looked for: `isin:…`, `wkn:…`, `ticker:…`
    trade_date date,                             -- of `fields`
    confirmed_seq bigint,                        -- its place among confirmed ones; null: its document waits for a person
    state text not null,                         -- what it is in the ledger: `TradeState`
    duplicate_of text,                           -- trade id of the statement that counts in its place
    cancelled_by text,                           -- trade id of what takes it back, or may do so
    cancels text,                                -- of a cancellation: trade id of what it takes back
    version integer not null default 1,          -- rises with each change; a decision names it
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create index trade_by_tenant on ingestion.trade (tenant_id, seq desc);
create index trade_by_document on ingestion.trade (document_id, position);
create index trade_alike on ingestion.trade (tenant_id, match_key, confirmed_seq, seq);
create index trade_by_state on ingestion.trade (tenant_id, state, seq desc);
create index trade_by_isin on ingestion.trade (tenant_id, isin, seq desc) where isin is not null;
create index trade_by_source on ingestion.trade (tenant_id, doc_source_id, seq desc);
create index trade_by_day on ingestion.trade (tenant_id, trade_date) where trade_date is not null;
create index trade_by_change on ingestion.trade (tenant_id, updated_at);

-- What people decided about two statements: the newest entry of a pair stands.
create table ingestion.trade_decision (
    entry_id bigint generated always as identity primary key,  -- order of the decisions
    tenant_id text not null,
    trade_id text not null references ingestion.trade on delete cascade,  -- the one that was decided about
    other_trade_id text not null references ingestion.trade on delete cascade,  -- the one that it was held against
    decision text not null                       -- of a cancellation, same: it takes that trade back
        check (decision in ('same', 'distinct')),
    comment text,                                -- the reviewer's words
    reviewer text,                               -- the person, as the calling program names them
    api_key_id text not null,                    -- first digits of the SHA-256 of the API key that was used
    decided_at timestamptz not null default now()  -- when that was
);
create index trade_decision_by_trade on ingestion.trade_decision (trade_id, entry_id);
create index trade_decision_by_other on ingestion.trade_decision (other_trade_id);

-- Documents whose results are told again, since another document, or a person, made something else of their trades. Rows
-- that nobody waits for: whoever adds one holds the ledger, and must not wait for who works them off.
create table ingestion.trade_announcement (
    entry_id bigint generated always as identity primary key,  -- order of the changes
    document_id text not null references ingestion.document on delete cascade  -- whose trades changed
);
create index trade_announcement_by_document on ingestion.trade_announcement (document_id);
