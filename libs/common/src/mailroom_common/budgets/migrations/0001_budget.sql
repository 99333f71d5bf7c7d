create schema if not exists mailroom_quota;

-- What was leased of one provider's quota in its newest window, for one mailbox or for the whole project. A row that is lost
-- costs one window at most. Each lease writes the row anew, so pages keep room for that.
create table mailroom_quota.budget (
    name text primary key,         -- provider, application, and `mailbox` with its key or `project`
    slice_number bigint not null,  -- the newest slice of time that units were leased in, by this database's clock
    leased int[] not null,         -- units leased in each of the slices of a window, the newest first
    touched_at timestamptz not null default now()  -- when units were leased last; idle rows are deleted after a day
) with (fillfactor = 50);
