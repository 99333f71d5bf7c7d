from dataclasses import dataclass

from mailroom_common.events.base import Event
from mailroom_common.events.terms import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification(Event):
    """A provider's hint that something changed. It is not the change.

    `provider_event` is what the provider would repeat if it sent the hint again: subscription, item and etag on Graph,
    address and history id on Gmail.
    """

    provider: Provider
    subscription_id: str | None = None
    change_type: str | None = None
    message_id: str | None = None
    history_id: str | None = None
    provider_event: str
