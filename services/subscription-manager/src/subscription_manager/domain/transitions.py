"""What happens to a connection, as functions from one to the next. No I/O and no clock: `now` is given."""

from dataclasses import replace
from datetime import datetime, timedelta

from mailroom_common.events import ClientState
from mailroom_common.providers.types import Account, Subscription
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, Status, SubscriptionStatus

AUTHORIZATION_PENDING = "authorization_pending"

# The longest that a subscription of either provider can live (Graph 10,080 minutes, Gmail 7 days), and an hour more
# for clocks that differ. A hash is good for that long from each creation and renewal on.
LONGEST_LIFE = timedelta(days=7, hours=1)

# One hash is added for each attempt to create. Attempts back off to an hour, so these reach back far enough.
_MOST_CLIENT_STATES = 16

_FIRST_RETRY = timedelta(seconds=5)
_LONGEST_RETRY = timedelta(hours=1)


def consented(
    connection: Connection,
    account: Account,
    *,
    generation: int,
    now: datetime,
    start_at: datetime,
    backstop_at: datetime,
) -> Connection:
    """Consent, the first or a later one. `start_at` counts the first time, unless the doc source was made with one."""
    return replace(
        connection,
        state=State.ACTIVE if connection.state is State.PENDING else connection.state,
        address=account.address,
        aliases=account.aliases,
        provider_user_id=account.user_id,
        provider_tenant=account.tenant or connection.provider_tenant,
        start_at=connection.start_at or start_at,
        grant_generation=generation,
        status=Status.ACTIVE,
        reason=None,
        last_error=None,
        attention_at=now,
        attempts=0,
        backstop_at=connection.backstop_at or backstop_at,
    )


def announced(connection: Connection, sha256: str, now: datetime) -> Connection:
    """A client state's hash, before its subscription is asked for: the first push may come before the answer."""
    still_good = [known for known in connection.client_states if known.valid_until > now]
    added = ClientState(sha256=sha256, valid_until=now + LONGEST_LIFE)
    return replace(connection, client_states=(*still_good[1 - _MOST_CLIENT_STATES :], added))


def subscribed(
    connection: Connection, subscription: Subscription, *, sha256: str | None, now: datetime, renew_at: datetime
) -> Connection:
    """The provider made a subscription, or said that one of the account's serves this doc source too."""
    return replace(
        _well(connection),
        subscription=CurrentSubscription(
            subscription_id=subscription.subscription_id,
            resource=subscription.resource,
            expires_at=subscription.expires_at,
            touched_at=now,
            notification_url=subscription.notification_url,
            lifecycle_url=subscription.lifecycle_url,
            client_state_sha256=sha256,
        ),
        attention_at=renew_at,
        attempts=0,
    )


def renewed(connection: Connection, expires_at: datetime, *, now: datetime, renew_at: datetime) -> Connection:
    """The subscription lives on, and so does the hash of its client state, which a renewal cannot change."""
    current = _current(connection)
    return replace(
        _well(connection),
        subscription=replace(
            current,
            expires_at=expires_at,
            touched_at=now,
            renew_asked_at=None,
            status=SubscriptionStatus.ACTIVE,
            renewals=current.renewals + 1,
        ),
        client_states=tuple(
            replace(known, valid_until=now + LONGEST_LIFE) if known.sha256 == current.client_state_sha256 else known
            for known in connection.client_states
            if known.sha256 == current.client_state_sha256 or known.valid_until > now
        ),
        attention_at=renew_at,
        attempts=0,
    )


def failed_for_now(connection: Connection, error: str, *, now: datetime, again_in: timedelta | None) -> Connection:
    """Another attempt will be made: after the provider's own word, else after a while that doubles."""
    wait = again_in if again_in is not None else min(_FIRST_RETRY * 2 ** min(connection.attempts, 20), _LONGEST_RETRY)
    return replace(
        expired_if_late(connection, now), last_error=error, attempts=connection.attempts + 1, attention_at=now + wait
    )


def needs_people(connection: Connection, status: Status, reason: str, error: str, *, again_at: datetime) -> Connection:
    """The connection rests until somebody acts; it is looked at now and then all the same."""
    return replace(connection, status=status, reason=reason, last_error=error, attention_at=again_at)


def expired_if_late(connection: Connection, now: datetime) -> Connection:
    """A subscription that ran out before it could be renewed; of several troubles the first one is shown."""
    current = connection.subscription
    if current is None or current.expires_at > now or current.status is not SubscriptionStatus.ACTIVE:
        return connection
    is_well = connection.status in (None, Status.ACTIVE)
    return replace(
        connection,
        subscription=replace(current, status=SubscriptionStatus.EXPIRED),
        status=Status.SUBSCRIPTION_EXPIRED if is_well else connection.status,
        reason="renewal_failed" if is_well else connection.reason,
    )


def removed_at_provider(connection: Connection, now: datetime) -> Connection:
    return replace(
        connection, subscription=replace(_current(connection), status=SubscriptionStatus.REMOVED), attention_at=now
    )


def asked_to_renew(connection: Connection, asked_at: datetime, now: datetime) -> Connection:
    return replace(connection, subscription=replace(_current(connection), renew_asked_at=asked_at), attention_at=now)


def look_again(connection: Connection, at: datetime | None) -> Connection:
    return replace(connection, attention_at=at)


def paused(connection: Connection) -> Connection:
    return replace(connection, state=State.PAUSED)


def resumed(connection: Connection, backstop_at: datetime) -> Connection:
    return replace(connection, state=State.ACTIVE, backstop_at=backstop_at)


def deleting(connection: Connection, now: datetime, *, has_grant: bool = False) -> Connection:
    """One that never was consented to is gone at once: nobody outside knows anything of it. `has_grant`: a consent got
    as far as storing its grant, which is to be given back first."""
    if connection.state is State.PENDING and not has_grant:
        return gone(connection, now)
    if connection.state is State.PENDING:
        # The address is what was wished for; who consented may be another. sync-engine has nothing of it.
        connection = replace(connection, address=None, forgotten_at=now)
    return replace(connection, state=State.DELETING, attention_at=now, attempts=0, backstop_at=None)


def ended(connection: Connection, now: datetime) -> Connection:
    return replace(connection, subscription=None, ended_at=now, attention_at=None, attempts=0)


def forgotten(connection: Connection, now: datetime) -> Connection:
    """sync-engine has removed its rows, or never had any."""
    return connection if connection.forgotten_at is not None else replace(connection, forgotten_at=now)


def gone_if_finished(connection: Connection, now: datetime) -> Connection:
    """Deleting is over when nothing is left, neither at the provider nor at sync-engine."""
    if connection.state is State.DELETING and connection.ended_at is not None and connection.forgotten_at is not None:
        return gone(connection, now)
    return connection


def gone(connection: Connection, now: datetime) -> Connection:
    """The grave: an id and a version, and no word of a person's mailbox."""
    return replace(
        connection,
        state=State.GONE,
        address=None,
        aliases=(),
        provider_user_id=None,
        client_states=(),
        subscription=None,
        status=None,
        reason=None,
        last_error=None,
        attention_at=None,
        backstop_at=None,
        ended_at=connection.ended_at or now,
    )


def _well(connection: Connection) -> Connection:
    """The provider served us: trouble with it and with the subscription is over. A refused grant stays refused until a
    consent or a sync that went well, since an access token may outlive it by an hour."""
    if connection.status is Status.TOKEN_REFRESH_FAILED:
        return connection
    return replace(connection, status=Status.ACTIVE, reason=None, last_error=None)


def _current(connection: Connection) -> CurrentSubscription:
    if connection.subscription is None:
        raise ValueError(f"doc source {connection.id} has no subscription")
    return connection.subscription
