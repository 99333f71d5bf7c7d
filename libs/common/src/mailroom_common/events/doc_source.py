from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mailroom_common.events.base import Event
from mailroom_common.events.terms import Access, Profile, Provider


class DocSourceState(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """SHA-256 (hex) of one client state, good until its subscription can no longer exist."""

    sha256: str
    valid_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilter:
    sender_allow: list[str] = field(default_factory=list)
    sender_deny: list[str] = field(default_factory=list)
    strictness: str = "lenient"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocSource(Event):
    """A doc source as the directory shows it. Readers keep the highest `version` per id, tombstones included."""

    version: int
    provider: Provider
    profile: Profile
    access: Access
    address: str | None = None
    aliases: list[str] = field(default_factory=list)
    provider_user_id: str | None = None
    provider_tenant: str | None = None
    state: DocSourceState
    folders: list[str] = field(default_factory=list)
    start_at: datetime | None = None
    filter: SourceFilter = field(default_factory=SourceFilter)
    client_states: list[ClientState] = field(default_factory=list)
    subscription_id: str | None = None
    grant_generation: int = 0
