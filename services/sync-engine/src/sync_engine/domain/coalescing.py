"""When a burst of notifications becomes a request: the first at once, those that follow within a window as one."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """What a sync request will say. `tenant_id` is empty where the notification could not be read."""

    requested_at: datetime
    tenant_id: str


@dataclass(frozen=True, slots=True)
class CoalescingWindow:
    """Opened by each request of a doc source. `held_back` stands for the notifications that came while it is open."""

    ends_at: datetime
    held_back: PendingRequest | None = None


@dataclass(frozen=True, slots=True)
class CoalescingDecision:
    """`request`: send it now. `window`: what to store afterwards; None for a source that is idle again."""

    window: CoalescingWindow | None
    request: PendingRequest | None = None


def decide_on_notification(
    window: CoalescingWindow | None, pending: PendingRequest, length: timedelta
) -> CoalescingDecision:
    # A window that is over but holds nothing back has not been closed yet: it delays nothing.
    if window is None or (window.held_back is None and window.ends_at <= pending.requested_at):
        return CoalescingDecision(CoalescingWindow(pending.requested_at + length), request=pending)
    return CoalescingDecision(CoalescingWindow(window.ends_at, window.held_back or pending))


def decide_on_window_end(window: CoalescingWindow, now: datetime, length: timedelta) -> CoalescingDecision:
    """The trailing request, which opens a window of its own; or nothing was held back, and the source is idle."""
    if window.ends_at > now:
        return CoalescingDecision(window)
    if window.held_back is None:
        return CoalescingDecision(None)
    return CoalescingDecision(CoalescingWindow(now + length), request=window.held_back)
