"""What every event has, and how a repeat gets the same identity."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha1
from uuid import UUID

_NAMESPACE = UUID("6f1d3f0a-5b0e-5c7e-9f3e-6d61696c726d").bytes


def derived_id(*parts: object) -> str:
    """A UUIDv5 of what is told: the same fact told twice has the same id, so a reader drops the repeat."""
    # As `uuid5` makes it, at a third of the price: the gateway needs thousands a second.
    text = "\x1f".join(map(str, parts)).encode()
    digest = sha1(_NAMESPACE + text, usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    event_id: str
    occurred_at: datetime
    tenant_id: str
    doc_source_id: str
