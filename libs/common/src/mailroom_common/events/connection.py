from dataclasses import dataclass
from enum import StrEnum

from mailroom_common.events.base import Event


class ConnectionKind(StrEnum):
    SYNCED = "synced"
    TOKEN_REFUSED = "token_refused"  # noqa: S105  # a word of ours, not a secret
    MAILBOX_GONE = "mailbox_gone"
    ACCESS_DENIED = "access_denied"
    PROVIDER_FAILING = "provider_failing"
    RECOVERED = "recovered"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionEvent(Event):
    """What the worker learned of a connection. `unannounced` counts messages found that no notification announced."""

    kind: ConnectionKind
    detail: str | None = None
    grant_generation: int
    unannounced: int = 0
