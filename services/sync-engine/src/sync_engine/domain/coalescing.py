"""When a burst of notifications becomes a request: the first at once, those that follow within a window as one."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request will say: since when it is asked for. The tenant is empty where no notification told it."""

    since: datetime
    tenant_id: str


@dataclass(frozen=True, slots=True)
class Window:
    """Opened by each request of a doc source. `held_back` is for the notifications that came since."""

    ends_at: datetime
    held_back: Wish | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`request`: ask now. `window`: what to remember afterwards; None for a source that is idle again."""

    window: Window | None
    request: Wish | None = None


def on_notification(window: Window | None, wish: Wish, length: timedelta) -> Decision:
    if window is None or (window.held_back is None and window.ends_at <= wish.since):
        return Decision(Window(wish.since + length), request=wish)
    return Decision(Window(window.ends_at, window.held_back or wish))


def on_end(window: Window, now: datetime, length: timedelta) -> Decision:
    """The trailing request, which opens a window of its own; or nothing was held back, and the source is idle."""
    if window.ends_at > now:
        return Decision(window)
    if window.held_back is None:
        return Decision(None)
    return Decision(Window(now + length), request=window.held_back)
