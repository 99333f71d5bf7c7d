"""What a connection's subscription needs, and when to look at it again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from mailroom_common.events import Provider
from subscription_manager.domain.connection import Connection, State, SubscriptionStatus

# Graph refuses above 10,070 minutes and documents 10,080; Gmail gives 7 days whatever is asked.
ASKED_LIFE = {Provider.OUTLOOK: timedelta(minutes=10_000), Provider.GMAIL: timedelta(days=7)}

_LEAD = timedelta(days=1)  # what expires within a day is renewed
_WATCH_EVERY = timedelta(days=1)  # Google asks for a watch to be repeated daily
# Graph warns of inconsistent state when a subscription is renewed or reauthorized twice within ten minutes.
_BETWEEN_RENEWALS = timedelta(minutes=10)


class Step(Enum):
    NOTHING = auto()
    CREATE = auto()
    RENEW = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class OurURLs:
    """Where the providers are to call us: of MAILROOM_PUBLIC_URL as it is now."""

    notification: str
    lifecycle: str


def next_step(connection: Connection, urls: OurURLs, now: datetime) -> Step:
    if connection.state is State.DELETING:
        return Step.END if connection.ended_at is None else Step.NOTHING
    if connection.state not in (State.ACTIVE, State.PAUSED):
        return Step.NOTHING
    current = connection.subscription
    if current is None or current.status is not SubscriptionStatus.ACTIVE or current.expires_at <= now:
        return Step.CREATE
    if connection.provider is Provider.OUTLOOK and _leads_elsewhere(connection, urls):
        return Step.CREATE
    if now < current.touched_at + _BETWEEN_RENEWALS and current.expires_at > now + _BETWEEN_RENEWALS:
        return Step.NOTHING
    # With the whole jitter: whoever comes at a jittered time has come in time.
    is_due = now >= renew_at(connection.provider, current.touched_at, current.expires_at, jitter=1.0)
    return Step.RENEW if is_due or _is_asked(connection) else Step.NOTHING


def look_again_at(connection: Connection, jitter: float) -> datetime | None:
    """When a connection that needs nothing now needs something next."""
    current = connection.subscription
    if current is None:
        return None
    if _is_asked(connection):
        return current.touched_at + _BETWEEN_RENEWALS
    return renew_at(connection.provider, current.touched_at, current.expires_at, jitter)


def renew_at(provider: Provider, touched_at: datetime, expires_at: datetime, jitter: float) -> datetime:
    """When to renew: with a day left, or half its life where that is short; on Gmail daily. `jitter` is 0 to 1, and
    brings it forward, so that what was made at one time is not renewed at one time."""
    life = expires_at - touched_at
    lead = min(_LEAD, life / 2)
    if provider is Provider.GMAIL:
        lead = max(lead, life - _WATCH_EVERY)
    return expires_at - lead - jitter * min(_LEAD / 6, life / 10)


def _is_asked(connection: Connection) -> bool:
    current = connection.subscription
    return current is not None and current.renew_asked_at is not None and current.renew_asked_at > current.touched_at


def _leads_elsewhere(connection: Connection, urls: OurURLs) -> bool:
    current = connection.subscription
    return current is not None and (current.notification_url, current.lifecycle_url) != (
        urls.notification,
        urls.lifecycle,
    )
