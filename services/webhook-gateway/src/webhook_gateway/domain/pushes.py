"""The pushes that providers send, free of their wire shape, and the result of handling one."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class GraphItem(NamedTuple):  # creating a frozen dataclass takes twice as long, and there are thousands a second
    """One item of a POST of Microsoft Graph: a change, or a lifecycle event when `lifecycle_event` is set."""

    client_state: str | None
    subscription_id: str | None
    lifecycle_event: str | None = None
    change_type: str | None = None
    message_id: str | None = None
    etag: str | None = None

    def __repr__(self) -> str:
        """Leaves out the client state, which is a secret."""
        return f"GraphItem{self[1:]}"

    @property
    def claimed_doc_source_id(self) -> str | None:
        """The id in the client state, `{doc_source_id}:{random}`, which proves nothing by itself."""
        return self.client_state.partition(":")[0] if self.client_state else None


@dataclass(frozen=True, slots=True)
class GmailPush:
    """A notification of Gmail. `subscription` is the Pub/Sub subscription that the push says it came from."""

    address: str
    history_id: str
    subscription: str | None


class PushOutcome(Enum):
    ACCEPTED = auto()  # everything genuine is acknowledged by Kafka, or rightly dropped
    UNKNOWN_ADDRESS = auto()  # no doc source has this Gmail address
    MISMATCHED = auto()  # the client state of at least one item matches no doc source


class PushResult(NamedTuple):
    """The numbers count items. `mismatched_doc_source_ids` exist, but their client state is another one."""

    outcome: PushOutcome
    written: int = 0
    dropped: int = 0
    mismatched: int = 0
    mismatched_doc_source_ids: tuple[str, ...] = ()
