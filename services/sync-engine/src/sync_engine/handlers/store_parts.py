"""Stores the parts of one mail: a part that fails is parked by itself, and the others become documents at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mailroom_common.errors import AccessDenied, ItemGone, MailroomError, ProviderUnavailable, Rejected, Throttled
from mailroom_common.logs import get_logger
from mailroom_common.parser import ParserCrashed
from mailroom_common.providers.types import Message, Part
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.mail_allowance import MailAllowance
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import ParkedPart, ParkedReason, SkippedPart, StoredPart, sum_stored_bytes
from sync_engine.domain.parts import SkipReason, find_shown_ids
from sync_engine.domain.run_outcomes import ClaimedByOtherJob, SourceNotActive
from sync_engine.domain.untrusted_text import clean_filename
from sync_engine.handlers.store_part import StorePart, skip_part
from sync_engine.handlers.sync_run import SyncRun

log = get_logger()

# After so many parts in a row over which the provider failed, the others of the mail are parked without a call.
_MAX_FAILURES_IN_ROW = 3
# What containers hold counts too: each is a row, and the rows of a mail are written by one transaction.
_MAX_PARTS = 2000
# After so long the rest of a mail waits for the next run: what is done is committed, and others have their turn.
_MAX_DURATION_S = 120.0

_REASONS: dict[type[MailroomError], ParkedReason] = {
    ItemGone: ParkedReason.GONE,
    AccessDenied: ParkedReason.ACCESS_DENIED,
    ParserCrashed: ParkedReason.PARSER_KILLED,
    Rejected: ParkedReason.REJECTED,
    ProviderUnavailable: ParkedReason.PROVIDER_UNAVAILABLE,
    ClaimedByOtherJob: ParkedReason.CLAIMED_BY_OTHER_JOB,
}


@dataclass(frozen=True, slots=True)
class PartResults:
    """What became of each part, in their order. `interruption` is the throttle that kept the last ones from being
    fetched: they are parked for that, and what was done before it is kept."""

    parts: tuple[StoredPart | SkippedPart | ParkedPart, ...]
    interruption: Throttled | None = None

    @property
    def has_stored(self) -> bool:
        return any(isinstance(part, StoredPart) for part in self.parts)

    @property
    def parked_parts(self) -> list[ParkedPart]:
        return [part for part in self.parts if isinstance(part, ParkedPart)]

    @property
    def is_provider_failing(self) -> bool:
        """Whether the provider failed over a part, and gave the bytes of none."""
        parked = {part.parked_reason for part in self.parked_parts}
        return ParkedReason.PROVIDER_UNAVAILABLE in parked and not self.has_stored


class StoreParts:
    def __init__(self, store_part: StorePart, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store_part = store_part
        self._monotonic = monotonic

    async def store_parts(
        self, run: SyncRun, message: Message, parts: Sequence[Part], *, rejection: MailRejection | None
    ) -> PartResults:
        """One after the other: a message with a hundred parts must not hold a hundred streams open.

        Raises what concerns the whole run; a throttle only where nothing was judged before it.
        """
        results: list[StoredPart | SkippedPart | ParkedPart] = []
        failures_in_row = 0
        html = message.html_body if any(part.content_id for part in parts) else None
        shown_ids = find_shown_ids(html or "")
        allowance = MailAllowance()
        begun_at = self._monotonic()
        for number, part in enumerate(parts):
            if len(results) >= _MAX_PARTS or allowance.is_spent:
                results += skip_part(part, SkipReason.TOO_MANY_PARTS)
                continue
            if number and self._monotonic() - begun_at > _MAX_DURATION_S:
                results.append(park_part(part, ParkedReason.NOT_FETCHED, "the parts before it took too long"))
                continue
            if failures_in_row >= _MAX_FAILURES_IN_ROW:
                results.append(park_part(part, ParkedReason.NOT_FETCHED, "others before it had failed"))
                continue
            try:
                result = await self._store_or_park(run, message, part, shown_ids, rejection, allowance)
            except Throttled as error:
                # Skipped parts count too: a mail of a thousand of them would begin at its first one in every run.
                if number == 0:
                    raise
                rest = [park_part(unread, ParkedReason.NOT_FETCHED, str(error)) for unread in parts[number:]]
                return PartResults((*results, *rest), interruption=error)
            results += result
            allowance.count_stored(sum_stored_bytes(result))
            failures_in_row = failures_in_row + 1 if any(map(_is_provider_failure, result)) else 0
        return PartResults(tuple(results))

    async def _store_or_park(
        self,
        run: SyncRun,
        message: Message,
        part: Part,
        shown_ids: frozenset[str],
        rejection: MailRejection | None,
        allowance: MailAllowance,
    ) -> Sequence[StoredPart | SkippedPart | ParkedPart]:
        try:
            return await self._store_part.store_part(
                run, message, part, shown_ids=shown_ids, rejection=rejection, allowance=allowance
            )
        except Exception as error:
            reason = find_parked_reason(error)
            if reason is None:
                raise
            if reason is ParkedReason.CRASHED:
                ids = {"doc_source_id": run.doc_source_id, "message_id": message.summary.message_id}
                # A bug of ours; the part is parked and its mail goes on without it.
                log.exception("part_crashed", part_path=part.part_path, **ids)
            return (park_part(part, reason, describe_error(error)),)


def find_parked_reason(error: Exception) -> ParkedReason | None:
    """Why one message or part is parked for this; None: the error concerns the whole run."""
    for error_type, reason in _REASONS.items():
        if isinstance(error, error_type):
            return reason
    # Untrusted input finds every bug: one part that crashes us must not keep the others from being stored.
    return None if isinstance(error, MailroomError | SourceNotActive) else ParkedReason.CRASHED


def describe_error(error: Exception) -> str:
    """Errors that nobody foresaw may quote the mail: only the name of their type is kept."""
    return str(error) if isinstance(error, MailroomError) else type(error).__name__


def park_part(part: Part, reason: ParkedReason, detail: str) -> ParkedPart:
    return ParkedPart(
        part_path=part.part_path,
        filename=clean_filename(part.filename),
        content_type=clean_text(part.content_type),
        size_bytes=part.size_bytes,
        parked_reason=reason,
        detail=detail,
    )


def _is_provider_failure(result: StoredPart | SkippedPart | ParkedPart) -> bool:
    return isinstance(result, ParkedPart) and result.parked_reason is ParkedReason.PROVIDER_UNAVAILABLE
