-- Claims go from one doc source with claimable documents to the next. Documents that rest until later must not lie in
-- between: where the blob store was away they may be those of every doc source.
alter table ingestion.document
    -- leased, or waiting for its next attempt; the first claim after that time takes the mark away
    add column is_resting boolean not null default false;
