"""What happens to a connection, as functions from one value to the next. No I/O and no clock: `now` is given."""

from dataclasses import replace
from datetime import datetime, timedelta

from mailroom_common.events import ClientState, Relist, SourceFilter
from mailroom_common.providers.types import Account, Subscription
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    CurrentSubscription,
    PendingReason,
    SubscriptionStatus,
    Trouble,
    TroubleReason,
)

# How long a hash outlives the subscription that was asked for: clocks differ, and a provider may round an expiry up.
_HASH_MARGIN = timedelta(days=1)

# One hash is added for each attempt to create. Attempts back off to an hour, so these reach back far enough.
_MAX_CLIENT_STATES = 16

# More than an operator asks for before the first of them is begun.
_MAX_EARLIER_RELISTS = 8

_FIRST_RETRY = timedelta(seconds=5)
_MAX_RETRY = timedelta(hours=1)
# After a throttle that names no wait: quotas are counted by the minute.
_THROTTLE_RETRY = timedelta(seconds=15)

# A first failure is not worth a status: most second attempts succeed.
_MIN_REPORTED_FAILURES = 3
_MAX_UNREPORTED = timedelta(minutes=5)  # for throttles, which are not counted


def record_consent(
    connection: Connection,
    account: Account,
    *,
    generation: int,
    now: datetime,
    start_at: datetime,
    next_backstop_at: datetime,
) -> Connection:
    """The first consent or a later one. `start_at` counts the first time, unless the doc source has one already."""
    return replace(
        connection,
        # A reconnect of a paused one renews its grant and does not resume it.
        state=ConnectionState.ACTIVE if connection.state is ConnectionState.PENDING else connection.state,
        address=account.address,
        aliases=account.aliases,
        provider_user_id=account.user_id,
        provider_tenant=account.tenant or connection.provider_tenant,
        start_at=connection.start_at or start_at,
        grant_generation=generation,
        pending_reason=None,
        pending_error=None,
        # What failed before failed with the older grant.
        sync_trouble=None,
        subscription_trouble=None,
        next_check_at=now,
        failed_attempts=0,
        next_backstop_at=connection.next_backstop_at or next_backstop_at,
    )


def record_refused_consent(connection: Connection, reason: PendingReason, error: str | None) -> Connection:
    """Somebody followed the link of a pending one and it could not be connected: the operator sees why."""
    if connection.state is not ConnectionState.PENDING:
        return connection
    if connection.pending_reason is PendingReason.CONSENT_LOST:  # which keeps it from being deleted as expired
        return replace(connection, pending_error=error or reason.value)
    return replace(connection, pending_reason=reason, pending_error=error)


def correct_pending(
    connection: Connection, *, address: str | None = None, folders: tuple[str, ...] | None = None
) -> Connection:
    """What a pending one asks for is corrected; None leaves it. Its link waits for a consent as if it was new, but one
    whose consent was lost stays one."""
    is_lost = connection.pending_reason is PendingReason.CONSENT_LOST
    return replace(
        connection,
        address=connection.address if address is None else address,
        folders=connection.folders if folders is None else folders,
        pending_reason=PendingReason.CONSENT_LOST if is_lost else PendingReason.AUTHORIZATION_PENDING,
        pending_error=None,
    )


def change_filter(connection: Connection, rules: SourceFilter) -> Connection:
    """Mail is judged by it from then on; what was judged before stays as it is."""
    return replace(connection, filter=rules)


def add_client_state(connection: Connection, sha256: str, *, expires_at: datetime, now: datetime) -> Connection:
    """The hash of a client state, before its subscription is created: the first push may come before the answer.
    `expires_at` is what the subscription will be asked to live until."""
    # Hashes of replaced subscriptions stay valid until those expire: their last pushes may still be under way.
    still_valid = [known for known in connection.client_states if known.valid_until > now]
    added = ClientState(sha256=sha256, valid_until=expires_at + _HASH_MARGIN)
    return replace(connection, client_states=(*still_valid[1 - _MAX_CLIENT_STATES :], added))


def find_last_attempt(connection: Connection, lifetime: timedelta) -> datetime | None:
    """When a subscription was last asked for or renewed, by the hashes of client states: each is stored first. An
    attempt whose answer was lost, also of another instance that was killed, has left its hash. None: never.
    `lifetime` is what is asked for."""
    latest = max((known.valid_until for known in connection.client_states), default=None)
    return None if latest is None else latest - _HASH_MARGIN - lifetime


def record_subscription(
    connection: Connection,
    subscription: Subscription,
    *,
    sha256: str | None,
    now: datetime,
    next_check_at: datetime,
) -> Connection:
    """The provider created a subscription, or an existing one of the account serves this doc source too."""
    return replace(
        _end_subscription_trouble(connection),
        subscription=CurrentSubscription(
            subscription_id=subscription.subscription_id,
            resource=subscription.resource,
            expires_at=subscription.expires_at,
            created_or_renewed_at=now,
            notification_url=subscription.notification_url,
            lifecycle_url=subscription.lifecycle_url,
            client_state_sha256=sha256,
        ),
        next_check_at=next_check_at,
        failed_attempts=0,
    )


def record_renewal(
    connection: Connection, expires_at: datetime, *, now: datetime, next_check_at: datetime
) -> Connection:
    """The subscription lives on, and so does the hash of its client state, which a renewal cannot change."""
    current = _require_subscription(connection)
    return replace(
        _end_subscription_trouble(connection),
        subscription=replace(
            current,
            expires_at=expires_at,
            created_or_renewed_at=now,
            renewal_requested_at=None,
            status=SubscriptionStatus.ACTIVE,
            renewal_count=current.renewal_count + 1,
        ),
        client_states=tuple(
            replace(known, valid_until=expires_at + _HASH_MARGIN)
            if known.sha256 == current.client_state_sha256
            else known
            for known in connection.client_states
            if known.sha256 == current.client_state_sha256 or known.valid_until > now
        ),
        next_check_at=next_check_at,
        failed_attempts=0,
    )


def schedule_retry(
    connection: Connection,
    error: str,
    *,
    now: datetime,
    retry_after: timedelta | None = None,
    is_throttled: bool = False,
    is_refused: bool = False,
) -> Connection:
    """Another attempt will be made: when the provider said, else after a pause that doubles each time. A throttle is no
    failure: it says nothing of the connection, and lengthens no later pause. `is_refused`: by what the provider said,
    the next attempt will fail as well."""
    doubled = _FIRST_RETRY * 2 ** min(connection.failed_attempts, 20)
    # The provider's own pause counts even where it is shorter: it knows when its limit ends.
    own_pause = _THROTTLE_RETRY if is_throttled else min(doubled, _MAX_RETRY)
    failed_attempts = connection.failed_attempts + (0 if is_throttled else 1)
    reason = TroubleReason.SUBSCRIPTION_REFUSED if is_refused else TroubleReason.SUBSCRIPTION_PENDING
    trouble = _describe_failed_step(connection, reason, error, failed_attempts, now)
    return replace(
        mark_overdue_as_expired(connection, now),
        subscription_trouble=trouble,
        failed_attempts=failed_attempts,
        next_check_at=now + (own_pause if retry_after is None else retry_after),
    )


def _describe_failed_step(
    connection: Connection, reason: TroubleReason, error: str, failed_attempts: int, now: datetime
) -> Trouble:
    earlier = connection.subscription_trouble
    since = now if earlier is None else earlier.since
    has_one = connection.has_subscription(now)
    is_overdue = connection.subscription is not None and not connection.is_subscription_removed and not has_one
    if is_overdue and reason is TroubleReason.SUBSCRIPTION_PENDING:
        reason = TroubleReason.RENEWAL_FAILED
    is_lasting = is_overdue or failed_attempts >= _MIN_REPORTED_FAILURES or now - since >= _MAX_UNREPORTED
    is_wanted = connection.state is not ConnectionState.DELETING
    is_missing = is_lasting and is_wanted and not has_one
    status = ConnectionStatus.SUBSCRIPTION_EXPIRED if is_missing else ConnectionStatus.ACTIVE
    return Trouble(status=status, reason=reason, error=error, since=since)


def record_refused_subscription(
    connection: Connection, error: str, *, now: datetime, next_check_at: datetime
) -> Connection:
    """The mailbox may be read, but not watched, until somebody acts; it is tried now and then all the same."""
    has_one = connection.has_subscription(now)
    status = ConnectionStatus.PROVIDER_ERROR if has_one else ConnectionStatus.SUBSCRIPTION_EXPIRED
    trouble = Trouble(status=status, reason=TroubleReason.SUBSCRIPTION_REFUSED, error=error, since=now)
    return replace(
        mark_overdue_as_expired(connection, now),
        subscription_trouble=_keep_since(trouble, connection.subscription_trouble),
        next_check_at=next_check_at,
    )


def record_refused_mailbox(
    connection: Connection,
    status: ConnectionStatus,
    reason: TroubleReason,
    error: str,
    *,
    now: datetime,
    next_check_at: datetime,
) -> Connection:
    """A step of the subscription found that nothing works: the grant is refused, or the mailbox is gone."""
    after = record_sync_trouble(mark_overdue_as_expired(connection, now), status, reason, error, now)
    if not connection.has_subscription(now):
        # It stays without one when a sync succeeds all the same: an access token may outlive its grant by an hour.
        trouble = Trouble(
            status=ConnectionStatus.SUBSCRIPTION_EXPIRED,
            reason=TroubleReason.SUBSCRIPTION_PENDING,
            error=error,
            since=now,
        )
        after = replace(after, subscription_trouble=_keep_since(trouble, connection.subscription_trouble))
    return replace(after, next_check_at=next_check_at)


def record_sync_trouble(
    connection: Connection, status: ConnectionStatus, reason: TroubleReason, error: str, now: datetime
) -> Connection:
    """It stands until a sync succeeds that no longer finds it, or until somebody consents anew."""
    trouble = Trouble(status=status, reason=reason, error=error, since=now)
    return replace(connection, sync_trouble=_keep_since(trouble, connection.sync_trouble))


def clear_sync_trouble(connection: Connection) -> Connection:
    return replace(connection, sync_trouble=None)


def _keep_since(trouble: Trouble, earlier: Trouble | None) -> Trouble:
    return trouble if earlier is None or earlier.reason is not trouble.reason else replace(trouble, since=earlier.since)


def mark_overdue_as_expired(connection: Connection, now: datetime) -> Connection:
    """A subscription that ran out before it could be renewed."""
    current = connection.subscription
    if current is None or current.expires_at > now or current.status is not SubscriptionStatus.ACTIVE:
        return connection
    return replace(connection, subscription=replace(current, status=SubscriptionStatus.EXPIRED))


def mark_subscription_removed(connection: Connection, now: datetime) -> Connection:
    """The provider says that it removed the subscription: a new one is due at once."""
    removed = replace(_require_subscription(connection), status=SubscriptionStatus.REMOVED)
    return replace(connection, subscription=removed, next_check_at=now)


def request_renewal(connection: Connection, requested_at: datetime, now: datetime) -> Connection:
    """The provider wants the subscription renewed before its time."""
    requested = replace(_require_subscription(connection), renewal_requested_at=requested_at)
    return replace(connection, subscription=requested, next_check_at=now)


def record_nothing_due(connection: Connection, next_check_at: datetime | None) -> Connection:
    """The subscription is as it is to be: what kept it from that is over."""
    return replace(connection, subscription_trouble=None, next_check_at=next_check_at)


def schedule_check(connection: Connection, next_check_at: datetime | None) -> Connection:
    return replace(connection, next_check_at=next_check_at)


def pause_connection(connection: Connection) -> Connection:
    return replace(connection, state=ConnectionState.PAUSED)


def resume_connection(connection: Connection, next_backstop_at: datetime) -> Connection:
    return replace(connection, state=ConnectionState.ACTIVE, next_backstop_at=next_backstop_at)


def request_relist(connection: Connection, *, relist_from: datetime, start_at: datetime | None) -> Connection:
    """Each request is a new one, also for the same time: its number is what makes a new version of the doc source."""
    return replace(
        connection,
        relist_from=relist_from,
        relist_number=connection.relist_number + 1,
        earlier_relists=_list_earlier_relists(connection, relist_from),
        start_at=start_at,
    )


def _list_earlier_relists(connection: Connection, relist_from: datetime) -> tuple[Relist, ...]:
    """Those that the one from `relist_from` does not cover. Only sync-engine knows which of them it has begun."""
    asked = list(connection.earlier_relists)
    if connection.relist_from is not None:
        asked.append(Relist(number=connection.relist_number, relist_from=connection.relist_from))
    wider = [relist for relist in asked if relist.relist_from < relist_from]
    if len(wider) > _MAX_EARLIER_RELISTS:
        # The two oldest become one: too much is listed rather than too little.
        wider[:2] = [replace(wider[1], relist_from=wider[0].relist_from)]
    return tuple(wider)


def begin_deletion(connection: Connection, now: datetime, *, has_grant: bool = False) -> Connection:
    """A connection without consent is deleted at once: nobody outside knows anything of it. `has_grant`: a consent got
    as far as storing its grant, which is to be given back first."""
    if connection.state is ConnectionState.PENDING and not has_grant:
        return erase_to_tombstone(connection, now)
    if connection.state is ConnectionState.PENDING:
        # The address is spelled as it was asked for, perhaps as an alias. sync-engine has no rows of it.
        connection = replace(connection, address=None, sync_rows_deleted_at=now)
    return replace(
        connection,
        state=ConnectionState.DELETING,
        next_check_at=now,
        failed_attempts=0,
        next_backstop_at=None,
        version_before_deletion=connection.published_version,
    )


def record_provider_end(connection: Connection, now: datetime) -> Connection:
    """Nothing of the connection is left at the provider."""
    return replace(connection, subscription=None, provider_ended_at=now, next_check_at=None, failed_attempts=0)


def record_forgotten(connection: Connection, source_version: int, now: datetime) -> Connection:
    """sync-engine has removed its rows, or never had any. Of a version before this deletion it is the answer to an
    earlier one, which a restore has undone."""
    is_answered = connection.sync_rows_deleted_at is not None
    if is_answered or source_version <= connection.version_before_deletion:
        return connection
    return replace(connection, sync_rows_deleted_at=now)


def erase_to_tombstone_if_finished(connection: Connection, now: datetime) -> Connection:
    """A deletion is finished when nothing is left, neither at the provider nor in sync-engine."""
    is_finished = connection.provider_ended_at is not None and connection.sync_rows_deleted_at is not None
    return (
        erase_to_tombstone(connection, now)
        if connection.state is ConnectionState.DELETING and is_finished
        else connection
    )


def erase_to_tombstone(connection: Connection, now: datetime) -> Connection:
    """The last step of a deletion: only the id and the version stay, which repeat the tombstone, and nothing of
    anybody's mailbox."""
    return replace(
        connection,
        state=ConnectionState.DELETED,
        address=None,
        aliases=(),
        provider_user_id=None,
        client_states=(),
        subscription=None,
        pending_reason=None,
        pending_error=None,
        sync_trouble=None,
        subscription_trouble=None,
        next_check_at=None,
        next_backstop_at=None,
        provider_ended_at=connection.provider_ended_at or now,
    )


def _end_subscription_trouble(connection: Connection) -> Connection:
    """What may be watched is there. A refused grant stays refused: an access token may outlive it by an hour."""
    sync_trouble = connection.sync_trouble
    if sync_trouble is not None and sync_trouble.reason is TroubleReason.MAILBOX_GONE:
        sync_trouble = None
    return replace(connection, subscription_trouble=None, sync_trouble=sync_trouble)


def _require_subscription(connection: Connection) -> CurrentSubscription:
    if connection.subscription is None:
        raise ValueError(f"doc source {connection.id} has no subscription")
    return connection.subscription
