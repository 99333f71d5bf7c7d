-- A mailbox may be read and not watched, or watched and not read: each trouble has its own end. The columns of the status
-- are derived from both.
alter table subscription_manager.doc_source_email
    -- why it is not synced, or in part only: {status, reason, error, since}; null: nothing is wrong
    add column sync_trouble jsonb,
    -- why it has no subscription, or may soon have none: {status, reason, error, since}; null: nothing is wrong
    add column subscription_trouble jsonb;

update subscription_manager.doc_source_email
set subscription_trouble = jsonb_build_object(
    'status', connection_status, 'reason', 'renewal_failed', 'error', coalesce(current_error, connection_reason, ''),
    'since', to_jsonb(now()))
where connection_status = 'subscription_expired';

update subscription_manager.doc_source_email
set sync_trouble = jsonb_build_object(
    'status', connection_status, 'reason', connection_reason, 'error', coalesce(current_error, connection_reason),
    'since', to_jsonb(now()))
where connection_status in ('token_refresh_failed', 'provider_error') and connection_reason is not null;
