"""Collects the attachments of a message: fetched in the least calls, filtered, its parts judged and stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mailroom_common.blobs import BlobStore
from mailroom_common.errors import AccessDenied, ItemGone, MailroomError
from mailroom_common.metrics import SYNC_MESSAGES_PASSED_OVER
from mailroom_common.providers.types import Message, MessageSummary, Part
from sync_engine.domain.judged_parts import (
    find_empty_parts,
    find_missing_parts,
    find_replaced_paths,
    has_new_part,
    leave_out_empty,
    select_parts_to_judge,
)
from sync_engine.domain.mail_filter import MailRejection, needs_html_to_judge, reject_mail
from sync_engine.domain.message_records import (
    DueMessage,
    EarlierJudgement,
    KnownMessage,
    MessageState,
    ParkedPart,
    ParkedReason,
    PassedOverMessage,
    PassedOverReason,
    ProcessedMessage,
    RecordedPart,
    SkippedPart,
    StoredPart,
)
from sync_engine.domain.parts import SkipReason, needs_html_body
from sync_engine.domain.run_outcomes import ClaimedByOtherJob, DoneByOtherJob
from sync_engine.domain.untrusted_text import clean_summary
from sync_engine.domain.watched_folders import MessageLocation, Watch
from sync_engine.handlers.claim_messages import ClaimMessages
from sync_engine.handlers.known_messages import ComparedVersions
from sync_engine.handlers.message_batches import MessageInterrupted, MessageRef, ProcessedBatch, process_each
from sync_engine.handlers.probe_access import ProbeAccess
from sync_engine.handlers.store_part import StorePart
from sync_engine.handlers.store_parts import PartResults, StoreParts
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import ContainerOpener, Messages, Uploads


class CollectMessages:
    """Writes nothing but blobs and their announcements: the rows are the caller's to commit."""

    def __init__(
        self,
        blobs: BlobStore,
        uploads: Uploads,
        containers: ContainerOpener,
        messages: Messages,
        claims: ClaimMessages,
        *,
        max_concurrent: int,
    ) -> None:
        self._parts = StoreParts(StorePart(blobs, uploads, containers))
        self._messages = messages
        self._claims = claims
        self._access = ProbeAccess(messages)
        self._max_concurrent = max_concurrent
        self._compared = ComparedVersions()

    async def collect_messages(self, run: SyncRun, watch: Watch, refs: Sequence[MessageRef]) -> ProcessedBatch:
        """Those of `refs` that are watched, and not from before the start."""
        wanted = [
            ref.message_id
            for ref in refs
            if ref.summary is None or _find_passed_over_reason(run, watch, ref.summary) is None
        ]
        try:
            # In one call for all.
            state_ids = await self._claims.find_state_ids(run, wanted)
        except MailroomError as error:
            return ProcessedBatch(interruption=error)
        return await process_each(
            run,
            refs,
            lambda ref: self._collect_message(run, watch, ref, state_ids),
            max_concurrent=self._max_concurrent,
        )

    async def _collect_message(
        self, run: SyncRun, watch: Watch, ref: MessageRef, state_ids: Mapping[str, str]
    ) -> ProcessedMessage | PassedOverMessage | None:
        if ref.summary is not None and _is_passed_over(run, watch, ref.summary):
            return None
        if ref.known is not None:
            return await self._judge_anew(run, watch, ref, ref.known, state_ids)
        if ref.summary is not None and (processed := _judge_without_fetch(run, watch, ref.summary)):
            return replace(processed, state_id=state_ids.get(ref.message_id) or None)
        message = await self._fetch_message(run, ref)
        # Judged by what the fetch says: the message may have been moved since the page was listed.
        location = watch.locate_message(message.summary)
        if passed_over := _pass_over_old(run, message.summary):
            return passed_over
        if location is None:
            SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.ELSEWHERE).inc()
            return None
        try:
            state_id = await self._claims.claim_message(run, message.summary, state_ids)
        except DoneByOtherJob as done:
            closed = _build_closed_message(message.summary, location, MailRejection.DONE_BY_OTHER_JOB)
            return replace(closed, state_id=done.state_id)
        return await self._process_parts(run, await self._complete_message(run, message), location, state_id)

    async def _judge_anew(
        self, run: SyncRun, watch: Watch, ref: MessageRef, known: KnownMessage, state_ids: Mapping[str, str]
    ) -> ProcessedMessage | None:
        """None where it has no part that was not judged, unless it was moved; and where the outside job has it by now,
        which tries again by itself what it cannot do."""
        may_be_compared = not ref.has_moved and not known.has_gone_part
        if may_be_compared and ref.summary is not None and self._compared.is_compared(run, ref.summary):
            return None
        parts = await self._messages.list_parts(run.doc_source_id, ref.message_id)
        earlier = EarlierJudgement(known.judgement_number, tuple(parts), known.empty_parts)
        message = await self._fetch_message(run, ref)
        location = watch.locate_message(message.summary)
        # A mail that has no parts where it had some is at a scanner, whose next change shows it again.
        if location is None or (earlier.parts and not message.parts):
            return None
        if not ref.has_moved and not has_new_part(leave_out_empty(message.parts, earlier.empty_parts), earlier.parts):
            self._compared.record_version(run, message.summary)
            return None
        try:
            state_id = await self._claims.claim_message(run, message.summary, state_ids)
        except (ClaimedByOtherJob, DoneByOtherJob):
            return None
        return await self._process_parts(run, await self._complete_message(run, message), location, state_id, earlier)

    async def _fetch_message(self, run: SyncRun, ref: MessageRef) -> Message:
        # Where inline parts are not reported, "no attachments" may be said of a mail with an inline PDF, as Apple Mail
        # sends it: only its parts tell.
        lists_parts = None if run.provider.traits.reports_inline_parts else True
        try:
            return await run.provider.fetch_message(run.mailbox, ref.message_id, ref.summary, with_parts=lists_parts)
        except AccessDenied:
            await self._access.require_access(run, ref.message_id)
            raise

    async def _complete_message(self, run: SyncRun, message: Message) -> Message:
        """With the body where it decides."""
        summary, profile, rules = message.summary, run.source.profile, run.source.filter
        needs_body = any(needs_html_body(part) for part in message.parts) or needs_html_to_judge(
            summary, message.parts, profile, rules
        )
        if not needs_body or message.html_body is not None:
            return message
        # The parts again too: their handles are good only right after the fetch.
        return await run.provider.fetch_message(
            run.mailbox, summary.message_id, summary, with_body=True, with_parts=True
        )

    async def _process_parts(
        self,
        run: SyncRun,
        message: Message,
        location: MessageLocation,
        state_id: str | None,
        earlier: EarlierJudgement | None = None,
    ) -> ProcessedMessage:
        """Raises MessageInterrupted, with what was stored before."""
        rejection = _reject_message(run, message)
        wanted = (
            message.parts
            if earlier is None
            else select_parts_to_judge(leave_out_empty(message.parts, earlier.empty_parts), earlier.parts)
        )
        results = await self._parts.store_parts(run, message, wanted, rejection=rejection)
        await self._require_access_to_parts(run, message, results)
        if earlier is not None:
            processed = _build_judged_anew(message, location, rejection, results.parts, wanted, earlier)
        elif any(isinstance(part, StoredPart | ParkedPart) for part in results.parts):
            processed = ProcessedMessage(
                summary=clean_summary(message.summary),
                state=MessageState.OPEN,
                folder_id=location.folder_id,
                folder=location.name,
                parts=results.parts,
            )
        else:
            processed = _build_closed_message(message.summary, location, rejection, results.parts)
        empty_parts = find_empty_parts(wanted, [part.part_path for part in results.parts])
        if earlier is not None:
            judged = {part.part_path for part in wanted}
            empty_parts += tuple(part for part in earlier.empty_parts if part.part_path not in judged)
        processed = replace(processed, state_id=state_id, empty_parts=empty_parts)
        if results.interruption:
            raise MessageInterrupted(processed, results.interruption)
        run.provider_failures.count_message(is_failing=results.is_provider_failing)
        return processed

    async def _require_access_to_parts(self, run: SyncRun, message: Message, results: PartResults) -> None:
        is_denied = any(part.parked_reason is ParkedReason.ACCESS_DENIED for part in results.parked_parts)
        if is_denied and not results.has_stored:
            await self._access.require_access(run, message.summary.message_id, of_parts=True)

    async def retry_parts(self, run: SyncRun, due: DueMessage) -> ProcessedMessage:
        """The message with those of its parked parts that are due, as they are now.

        Raises MessageInterrupted, and ItemGone where the message or each part of it is gone.
        """
        fetched = await self._fetch_message(run, MessageRef(due.message_id))
        if due.state_id is not None:
            try:
                await self._claims.claim_message(run, fetched.summary, {due.message_id: due.state_id})
            except DoneByOtherJob:
                return _leave_to_other_job(due)
        message = await self._complete_message(run, fetched)
        if not message.parts:
            # A scanner may be at work on it: nothing is called gone for one answer that lists no part at all.
            raise ItemGone("the mail is said to have no parts")
        listed = {part.part_path: part for part in message.parts}
        # Those that were tried least come first: where many fail, each has its turn.
        order = sorted(due.due_parts, key=lambda due_part: due_part.attempts)
        wanted = [listed[item.part.part_path] for item in order if item.part.part_path in listed]
        results = await self._parts.store_parts(run, message, wanted, rejection=_reject_message(run, message))
        await self._require_access_to_parts(run, message, results)
        tried = tuple(part for part in results.parts if not _is_untried(part))
        missing = tuple(skip_missing_part(item.part) for item in order if item.part.part_path not in listed)
        kept = {part.part_path for part in results.parts}
        processed = ProcessedMessage(
            summary=clean_summary(message.summary),
            state=MessageState.OPEN,
            folder_id=due.folder_id,
            folder=due.folder,
            parts=tried + missing,
            opened_part_paths=tuple(part.part_path for part in wanted if part.part_path not in kept),
            empty_parts=find_empty_parts(wanted, list(kept)),
            state_id=due.state_id,
        )
        if results.interruption:
            raise MessageInterrupted(processed, results.interruption)
        return processed


def _reject_message(run: SyncRun, message: Message) -> MailRejection | None:
    profile, rules = run.source.profile, run.source.filter
    return reject_mail(message.summary, message.parts, profile, rules, html=message.html_body or "")


def _is_untried(part: StoredPart | SkippedPart | ParkedPart) -> bool:
    return isinstance(part, ParkedPart) and part.parked_reason is ParkedReason.NOT_FETCHED


def skip_missing_part(part: ParkedPart | RecordedPart) -> SkippedPart:
    """The mail has it no longer, or is gone itself."""
    return _skip_part(part, SkipReason.GONE)


def _leave_to_other_job(due: DueMessage) -> ProcessedMessage:
    parts = tuple(_skip_part(item.part, SkipReason.DONE_BY_OTHER_JOB) for item in due.due_parts)
    summary = MessageSummary(message_id=due.message_id)
    return ProcessedMessage(summary=summary, state=MessageState.OPEN, parts=parts)


def _skip_part(part: ParkedPart | RecordedPart, reason: SkipReason) -> SkippedPart:
    return SkippedPart(
        part_path=part.part_path,
        filename=part.filename,
        content_type=part.content_type,
        size_bytes=part.size_bytes,
        skip_reason=reason,
    )


def _is_passed_over(run: SyncRun, watch: Watch, summary: MessageSummary) -> bool:
    reason = _find_passed_over_reason(run, watch, summary)
    if reason is not None:
        SYNC_MESSAGES_PASSED_OVER.labels(reason).inc()
    return reason is not None


def _find_passed_over_reason(run: SyncRun, watch: Watch, summary: MessageSummary) -> PassedOverReason | None:
    if run.is_before_start(summary):
        return PassedOverReason.BEFORE_START
    is_elsewhere = watch.knows_location(summary) and watch.locate_message(summary) is None
    return PassedOverReason.ELSEWHERE if is_elsewhere else None


def _pass_over_old(run: SyncRun, summary: MessageSummary) -> PassedOverMessage | None:
    if summary.received_at is None or not run.is_before_start(summary):
        return None
    SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.BEFORE_START).inc()
    return PassedOverMessage(summary.message_id, summary.received_at)


def _judge_without_fetch(run: SyncRun, watch: Watch, summary: MessageSummary) -> ProcessedMessage | None:
    """A mail that is known to have no parts at all costs no call."""
    location = watch.locate_message(summary) if watch.knows_location(summary) else None
    has_no_parts = run.provider.traits.reports_inline_parts and summary.has_attachments is False
    if location is None or summary.received_at is None or not has_no_parts:
        return None
    return _build_closed_message(summary, location, reject_mail(summary, (), run.source.profile, run.source.filter))


def _build_judged_anew(
    message: Message,
    location: MessageLocation,
    rejection: MailRejection | None,
    results: Sequence[StoredPart | SkippedPart | ParkedPart],
    judged: Sequence[Part],
    earlier: EarlierJudgement,
) -> ProcessedMessage:
    """Open: the commit closes it, where no part of it waits for anything."""
    missing = tuple(map(skip_missing_part, find_missing_parts(message.parts, earlier.parts)))
    replaced_paths = find_replaced_paths(message.parts, judged, earlier.parts)
    has_records = results or missing or any(part.part_path not in replaced_paths for part in earlier.parts)
    has_stored = any(part.is_stored for part in earlier.parts) or any(isinstance(part, StoredPart) for part in results)
    if rejection is None and not has_records:
        rejection = MailRejection.NO_PARTS
    return ProcessedMessage(
        summary=clean_summary(message.summary),
        state=MessageState.OPEN,
        folder_id=location.folder_id,
        folder=location.name,
        skip_reason=None if has_stored or rejection is None else str(rejection),
        parts=(*results, *missing),
        earlier=earlier,
        replaced_paths=replaced_paths,
    )


def _build_closed_message(
    summary: MessageSummary,
    location: MessageLocation,
    rejection: MailRejection | None,
    parts: Sequence[StoredPart | SkippedPart | ParkedPart] = (),
) -> ProcessedMessage:
    """No part is stored, so there is no result to wait for. The mail says why, or each of its parts does."""
    if rejection is None and not parts:
        rejection = MailRejection.NO_PARTS
    return ProcessedMessage(
        summary=clean_summary(summary),
        state=MessageState.CLOSED,
        folder_id=location.folder_id,
        folder=location.name,
        skip_reason=None if rejection is None else str(rejection),
        parts=tuple(parts),
    )
