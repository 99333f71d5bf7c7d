"""What belongs to one sync run of one mailbox."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.events import DocSource, Profile, SyncReason
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Mailbox, MessageSummary
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import CommittedPage, FullRound, PageUpdate, RunTally, SyncState
from sync_engine.domain.run_planning import SyncTimings, is_unannounced
from sync_engine.handlers.change_batches import OldMailBatches
from sync_engine.handlers.run_slices import RunSlice

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


# So many messages in a row over which the provider failed are no messages' own trouble any more.
_MAX_FAILURES_IN_ROW = 3


@dataclass(slots=True)
class ProviderFailures:
    """Messages in a row over whose parts the provider failed. It is counted within a run: so each run goes further."""

    in_row: int = 0

    def count_message(self, *, is_failing: bool) -> None:
        """Raises ProviderUnavailable: it is the provider that is down, and nothing more is parked for that."""
        self.in_row = self.in_row + 1 if is_failing else 0
        if self.in_row >= _MAX_FAILURES_IN_ROW:
            raise ProviderUnavailable("the provider fails over the parts of one message after the other")


@dataclass(slots=True)
class ConsecutiveTries:
    """Parked messages that are tried again one after the other, and over how many in a row the provider failed."""

    failed_in_row: int = 0

    def count_try(self, *, is_failing: bool) -> None:
        self.failed_in_row = self.failed_in_row + 1 if is_failing else 0

    @property
    def has_provider_failed(self) -> bool:
        return self.failed_in_row >= _MAX_FAILURES_IN_ROW


@dataclass(slots=True)
class AccessProbes:
    """What a run has found of its access to messages: `is_denied` of messages (False) and of their parts (True).

    `listed_ids`: messages of the page under way, which may be asked for where none was ever stored.
    """

    listed_ids: tuple[str, ...] = ()
    is_denied: dict[bool, bool] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRun:
    """`state` is the source's row as the run found it."""

    source: DocSource
    mailbox: Mailbox
    provider: MailReader
    reasons: frozenset[SyncReason]
    state: SyncState
    started_at: datetime
    timings: SyncTimings
    run_id: str = field(default_factory=lambda: str(uuid4()))
    slice: RunSlice = field(default_factory=RunSlice)
    tally: RunTally = field(default_factory=RunTally)
    provider_failures: ProviderFailures = field(default_factory=ProviderFailures)
    access_probes: AccessProbes = field(default_factory=AccessProbes)
    old_mail_batches: OldMailBatches = field(default_factory=OldMailBatches)

    @property
    def doc_source_id(self) -> str:
        return self.source.doc_source_id

    @property
    def full_round(self) -> FullRound:
        """Where it is a full run: the one that it goes on with, or begins."""
        return self.state.full_round or FullRound(
            started_at=self.started_at, run_id=self.run_id, due_mark=self.state.full_due_mark
        )

    @property
    def listed_until(self) -> datetime | None:
        """Up to when the list of modified messages has been read, by the provider's clock."""
        return self.slice.listed_until or self.state.modified_listed_until

    @property
    def is_observing(self) -> bool:
        """Whether the run reports what happens to each mail, instead of collecting attachments."""
        return self.source.profile is Profile.OBSERVATION

    @property
    def start_at(self) -> datetime:
        return self.source.start_at or _EPOCH

    def is_before_start(self, summary: MessageSummary) -> bool:
        """By the provider's clock, whichever list shows the mail. An unknown time is not before."""
        return summary.received_at is not None and summary.received_at < self.start_at

    def add_to_tally(self, update: PageUpdate, committed: CommittedPage) -> None:
        written = [message for message in update.messages if message.message_id in committed.new_message_ids]
        has_new = any(not message.is_parked_only for message in written)
        # Neither what is judged anew nor old mail that is remembered silently is new: no notification told of it.
        new = [
            message
            for message in written
            if message.earlier is None and message.skip_reason != MailRejection.BEFORE_START
        ]
        self.tally.new_messages += len(new)
        self.tally.written_messages += len(written) + len(update.failed)
        self.tally.progress_commits += has_new or update.leaves_page
        self.tally.stored_parts += committed.stored_parts
        self.tally.parked_items += len(update.failed) + sum(len(message.parked_parts) for message in written)
        self.tally.unannounced_messages += sum(
            is_unannounced(message.summary.received_at, self.reasons, self.state, self.timings, self.started_at)
            for message in new
        )


def build_mailbox(source: DocSource) -> Mailbox:
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
