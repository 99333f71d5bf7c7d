"""What the subscription of a connection needs now, and when to check it again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from mailroom_common.providers.ports import PushTraits
from subscription_manager.domain.connection import Connection, ConnectionState, SubscriptionStatus

RENEWAL_LEAD = timedelta(days=1)  # what expires within a day is renewed
MAX_RENEWAL_JITTER = RENEWAL_LEAD / 6


class SubscriptionStep(Enum):
    NOTHING = auto()
    CREATE = auto()
    RENEW = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class WebhookURLs:
    """Where one provider is to call us."""

    notification: str
    lifecycle: str


def build_webhook_urls(webhook_base_url: str, provider: str) -> WebhookURLs:
    """The gateway's routes for a provider, at the site's present address."""
    notification = f"{webhook_base_url}/webhooks/{provider}"
    return WebhookURLs(notification, f"{notification}/lifecycle")


def choose_step(connection: Connection, push: PushTraits | None, urls: WebhookURLs, now: datetime) -> SubscriptionStep:
    """`push` is None where the provider can only be polled: there is nothing to create, and the backstop finds the
    mail. A deleted connection is ended all the same, since it has a grant."""
    if connection.state is ConnectionState.DELETING:
        return SubscriptionStep.END if connection.provider_ended_at is None else SubscriptionStep.NOTHING
    if push is None or connection.state not in (ConnectionState.ACTIVE, ConnectionState.PAUSED):
        return SubscriptionStep.NOTHING
    current = connection.subscription
    # An expired one cannot be renewed; a provider may have removed one that has not expired.
    if current is None or current.status is not SubscriptionStatus.ACTIVE or current.expires_at <= now:
        return SubscriptionStep.CREATE
    # MAILROOM_PUBLIC_URL is another one than at the creation, and a renewal cannot change the URL.
    if push.has_notification_url and WebhookURLs(current.notification_url or "", current.lifecycle_url or "") != urls:
        return SubscriptionStep.CREATE
    # A second renewal too soon after the first leaves the subscription in an inconsistent state at some providers. One
    # that would not live through the wait is renewed all the same.
    if now < current.created_or_renewed_at + push.min_renewal_gap and current.expires_at > now + push.min_renewal_gap:
        return SubscriptionStep.NOTHING
    # With the whole jitter: a check that was scheduled with some jitter comes in time.
    is_due = now >= compute_renewal_time(push, current.created_or_renewed_at, current.expires_at, jitter=1.0)
    return SubscriptionStep.RENEW if is_due or is_renewal_requested(connection) else SubscriptionStep.NOTHING


def compute_next_check(connection: Connection, push: PushTraits | None, jitter: float) -> datetime | None:
    """When a connection that needs nothing now needs something next, None when only an event can change that."""
    current = connection.subscription
    if current is None or push is None:
        return None
    gap_ends_at = current.created_or_renewed_at + push.min_renewal_gap
    if is_renewal_requested(connection):
        return gap_ends_at
    renewal_at = compute_renewal_time(push, current.created_or_renewed_at, current.expires_at, jitter)
    # Half of a short life may be over within the gap, in which no step is taken: a check then would claim the row
    # again and again until the gap ends.
    return max(renewal_at, gap_ends_at) if gap_ends_at < current.expires_at else renewal_at


def compute_renewal_time(
    push: PushTraits, created_or_renewed_at: datetime, expires_at: datetime, jitter: float
) -> datetime:
    """With a day left, or half of its life where that is short; at the provider's interval where it asks for one.

    `jitter` is 0 to 1 and brings the renewal forward, so that what was created together is not renewed together.
    """
    # From what the provider granted and not from what was asked for: it may grant an hour.
    life = expires_at - created_or_renewed_at
    lead = min(RENEWAL_LEAD, life / 2)
    if push.renewal_interval is not None:
        lead = max(lead, life - push.renewal_interval)
    return expires_at - lead - jitter * min(MAX_RENEWAL_JITTER, life / 10)


def is_renewal_requested(connection: Connection) -> bool:
    """Whether the provider asked for a renewal that has not been made since."""
    current = connection.subscription
    return (
        current is not None
        and current.renewal_requested_at is not None
        and current.renewal_requested_at > current.created_or_renewed_at
    )
