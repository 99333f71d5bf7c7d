from dataclasses import dataclass
from enum import StrEnum

from mailroom_common.events.base import Event
from mailroom_common.events.terms import Provider


class LifecycleKind(StrEnum):
    REAUTHORIZATION_REQUIRED = "reauthorization_required"
    SUBSCRIPTION_REMOVED = "subscription_removed"
    MISSED = "missed"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent(Event):
    """A provider's word on the subscription itself; `raw_kind` is its own spelling."""

    provider: Provider
    subscription_id: str
    kind: LifecycleKind
    raw_kind: str
