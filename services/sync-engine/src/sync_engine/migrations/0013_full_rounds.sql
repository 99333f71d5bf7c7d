-- A full run is read in slices, so that a long one gives its slot back: what the next slice goes on with.
alter table sync_engine.sync_state
    add column full_round_started_at timestamptz,  -- of the full run under way; null: none, or none that was interrupted
    add column full_round_run_id text,             -- its row of `sync_run`
    add column full_round_due_mark bigint,         -- the `full_due_mark` that it began with, the only one that it clears
    add column last_completed_full_ended_at timestamptz,  -- from then on counts when the next full run is due
    -- since when runs fail or are throttled without getting on; null: the last one got on
    add column stalled_since timestamptz;

-- A folder whose changes the provider fails to list is read by the lists of messages until it does again.
alter table sync_engine.folder
    add column changes_failed_since timestamptz,   -- null: its changes can be listed
    -- provider's clock: the list of all messages since the start, which a first sync of it is then, has come so far
    add column listed_until timestamptz,
    add column is_listed boolean not null default false;  -- that list has come to its end
