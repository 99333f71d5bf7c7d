"""What belongs to one sync run."""

from dataclasses import dataclass, field
from datetime import datetime

from mailroom_common.events import DocSource, Profile, SyncReason
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Mailbox, MessageSummary
from sync_engine.domain.plan import Timings, is_unannounced
from sync_engine.domain.records import Committed, JudgedMessage, Standing

_THE_BEGINNING = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(slots=True)
class Tally:
    found_new: int = 0
    unannounced: int = 0
    parts_taken: int = 0
    parked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    source: DocSource
    mailbox: Mailbox
    provider: MailReader
    reasons: frozenset[SyncReason]
    standing: Standing
    started_at: datetime
    timings: Timings
    tally: Tally = field(default_factory=Tally)

    @property
    def doc_source_id(self) -> str:
        return self.source.doc_source_id

    @property
    def observes(self) -> bool:
        return self.source.profile is Profile.OBSERVATION

    @property
    def start_at(self) -> datetime:
        return self.source.start_at or _THE_BEGINNING

    def is_before_start(self, summary: MessageSummary) -> bool:
        """By the provider's clock, whichever way the mail shows. Unknown is not before."""
        return summary.received_at is not None and summary.received_at < self.start_at

    def count(self, committed: Committed, messages: tuple[JudgedMessage, ...], failed: int = 0) -> None:
        new = [message for message in messages if message.message_id in committed.message_ids]
        self.tally.found_new += len(new)
        self.tally.parts_taken += committed.parts_taken
        self.tally.parked += failed
        self.tally.unannounced += sum(
            is_unannounced(message.summary.received_at, self.reasons, self.standing, self.timings, self.started_at)
            for message in new
        )


def mailbox_of(source: DocSource) -> Mailbox:
    return Mailbox(
        doc_source_id=source.doc_source_id,
        provider=source.provider,
        access=source.access,
        profile=source.profile,
        address=source.address or "",
        provider_user_id=source.provider_user_id,
        provider_tenant=source.provider_tenant,
        grant_generation=source.grant_generation,
    )
