"""What providers push, in our words."""

from dataclasses import dataclass
from typing import NamedTuple


class GraphItem(NamedTuple):  # half the price of a frozen dataclass, and there are thousands a second
    """One item of a POST of Microsoft Graph: a change, or a lifecycle event when `lifecycle_event` is set."""

    client_state: str | None
    subscription_id: str | None
    lifecycle_event: str | None = None
    change_type: str | None = None
    message_id: str | None = None
    etag: str | None = None

    def __repr__(self) -> str:
        """Without the client state, which is a secret."""
        return f"GraphItem{self[1:]}"

    @property
    def doc_source_id(self) -> str | None:
        """What the client state claims: it is `{doc_source_id}:{random}`."""
        return self.client_state.partition(":")[0] if self.client_state else None


@dataclass(frozen=True, slots=True)
class GmailPush:
    """A notification of Gmail. `subscription` is the Pub/Sub subscription that it says it came by."""

    address: str
    history_id: str
    subscription: str | None
