-- What both providers keep. Times end in _ms: milliseconds since 1970.

create table if not exists mime (sha256 text primary key, source blob not null);

create table if not exists mailbox (
    provider text not null, address text not null collate nocase, user_id text not null, tenant_id text not null,
    display_name text not null, sync_generation integer not null default 1, history_id integer not null default 1000,
    oldest_history_id integer not null default 1000, disabled text,
    primary key (provider, address), unique (provider, user_id));

-- Microsoft: folders, messages, and what happened to them in the order that delta tells it in.
create table if not exists folder (
    folder_id text primary key, user_id text not null, parent_id text, display_name text not null,
    well_known text, is_hidden integer not null default 0);
create table if not exists folder_change (seq integer primary key autoincrement, user_id text, folder_id text, at_ms integer);

create table if not exists graph_message (
    pk integer primary key autoincrement, user_id text not null, folder_id text not null, mime_sha256 text not null,
    rest_id text not null unique, immutable_id text not null unique, change_key text not null,
    received_ms integer not null, created_ms integer not null, modified_ms integer not null,
    is_read integer not null default 0, is_draft integer not null default 0, categories text not null default '[]',
    flag_status text not null default 'notFlagged');
create index if not exists graph_message_by_place on graph_message (folder_id, pk);
create index if not exists graph_message_by_arrival on graph_message (user_id, received_ms);
create index if not exists graph_message_by_change on graph_message (user_id, modified_ms);
create table if not exists graph_change (
    seq integer primary key autoincrement, user_id text not null, folder_id text not null, message_pk integer not null,
    kind text not null, rest_id text not null, immutable_id text not null, at_ms integer not null);
create index if not exists graph_change_by_folder on graph_change (folder_id, seq);
create index if not exists graph_change_by_message on graph_change (message_pk, seq);
create index if not exists graph_change_by_user on graph_change (user_id, seq);

create table if not exists subscription (
    subscription_id text primary key, app_id text not null, user_id text not null, folder_id text, tenant_id text not null,
    creator_id text not null, resource text not null, change_type text not null, notification_url text not null,
    lifecycle_url text, client_state text, tls_version text not null, expires_ms integer not null,
    immutable_ids integer not null, created_ms integer not null);

-- Gmail: messages with their labels (a JSON list), the history, and who is notified.
create table if not exists gmail_message (
    pk integer primary key autoincrement, user_id text not null, mime_sha256 text not null, message_id text not null unique,
    thread_id text not null, labels text not null, history_id integer not null, internal_ms integer not null,
    attachment_round integer not null default 0);
create index if not exists gmail_message_by_user on gmail_message (user_id, internal_ms);
create table if not exists history (
    user_id text not null, history_id integer not null, kind text not null, message_id text not null,
    thread_id text not null, labels text not null, labels_after text not null, at_ms integer not null,
    primary key (user_id, history_id));
create table if not exists label (
    user_id text not null, label_id text not null, name text not null, primary key (user_id, label_id));
create table if not exists watch (
    user_id text primary key, topic text not null, labels text not null, behavior text not null, expires_ms integer not null,
    last_event_ms integer not null default 0);

-- OAuth of both. `dead` says why a token no longer counts.
create table if not exists authorization_code (
    code text primary key, provider text not null, user_id text not null, client_id text not null,
    redirect_uri text not null, scopes text not null, nonce text, challenge text, challenge_method text,
    tenant text not null, wants_refresh integer not null, expires_ms integer not null, grant_id text);
create table if not exists token (
    token_sha256 text primary key, kind text not null, provider text not null, user_id text, tenant_id text not null,
    client_id text not null, scopes text not null, grant_id text not null, issued_ms integer not null,
    expires_ms integer not null, dead text);
create index if not exists token_by_grant on token (grant_id);
create table if not exists consented (provider text, user_id text, client_id text, primary key (provider, user_id, client_id));

-- Pushes that wait for their next attempt, and what became of the others.
create table if not exists outgoing (
    seq integer primary key autoincrement, channel text not null, url text not null, user_id text not null, body text not null,
    created_ms integer not null, due_ms integer not null, attempts integer not null default 0);
create index if not exists outgoing_by_address on outgoing (channel, url, due_ms, seq);
create table if not exists delivered (
    seq integer primary key autoincrement, channel text not null, url text not null, user_id text not null, body text not null,
    at_ms integer not null, status text not null, attempts integer not null);

-- Calls of Mailroom, for `mailroom-sandbox calls`, and the faults that are switched on.
create table if not exists call (
    seq integer primary key autoincrement, at_ms integer not null, provider text not null, method text not null,
    path text not null, mailbox text, status integer not null, duration_ms integer not null,
    units integer not null);
create table if not exists fault (name text not null, mailbox text not null, body text not null, primary key (name, mailbox));
