-- Units are allocated, not leased: nobody gives them back. Made anew, since what was in it concerns one window.
drop table mailroom_quota.budget;

-- What was allocated of one provider's quota in its newest window, for one mailbox or for the whole project. A row that is lost
-- costs one window at most. Each allocation writes the row anew, so pages keep room for that.
create table mailroom_quota.budget (
    name text primary key,         -- provider, application, and `mailbox` with its key or `project`
    slice_number bigint not null,  -- the newest slice of time that units were allocated in, by this database's clock
    allocated int[] not null,      -- units allocated in each of the slices of a window, the newest first
    touched_at timestamptz not null default now()  -- when units were allocated last; idle rows are deleted after a day
) with (fillfactor = 50);
