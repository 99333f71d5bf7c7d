"""Reports what became of the mails of an observed mailbox: metadata only, never a body, never an attachment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import AccessDenied, ItemGone
from mailroom_common.events import MailKind
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.mail_events import map_mail_event
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import KnownMessage, MessageState, ProcessedMessage
from sync_engine.domain.untrusted_text import clean_summary
from sync_engine.domain.watched_folders import MessageLocation, Watch
from sync_engine.handlers.message_batches import MessageRef, ProcessedBatch, process_each
from sync_engine.handlers.probe_access import ProbeAccess
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Messages


class ObserveMessages:
    def __init__(self, messages: Messages, clock: Callable[[], datetime], *, max_concurrent: int) -> None:
        self._access = ProbeAccess(messages)
        self._clock = clock
        self._max_concurrent = max_concurrent

    async def observe_messages(
        self, run: SyncRun, watch: Watch, refs: Sequence[MessageRef], known: Mapping[str, KnownMessage]
    ) -> ProcessedBatch:
        """What differs from our records. A removal is believed once the mail cannot be fetched any more."""
        return await process_each(
            run,
            refs,
            lambda ref: self._observe_message(run, watch, ref, known.get(ref.message_id)),
            max_concurrent=self._max_concurrent,
        )

    def report_removal(self, run: SyncRun, known: KnownMessage) -> ProcessedMessage | None:
        """The mail is gone for certain; None when that was reported already, or the mail never was."""
        if known.state is not MessageState.OBSERVED:
            return None
        summary = MessageSummary(message_id=known.message_id)
        event = map_mail_event(run.source, MailKind.REMOVED, summary, None, known, self._clock())
        return ProcessedMessage(
            summary=summary, state=MessageState.REMOVED, folder_id=known.folder_id, mail_events=(event,)
        )

    async def _observe_message(
        self, run: SyncRun, watch: Watch, ref: MessageRef, known: KnownMessage | None
    ) -> ProcessedMessage | None:
        summary = ref.summary
        if ref.received_before is not None:
            return None if known else _remember_by_id(run, ref.message_id, ref.received_before)
        if summary is None or _is_incomplete(run, summary, known):
            try:
                fetched = await run.provider.fetch_message(run.mailbox, ref.message_id)
            except ItemGone:
                if ref.may_be_gone:
                    return self.report_removal(run, known) if known else None
                raise
            except AccessDenied:
                await self._access.require_access(run, ref.message_id)
                raise
            summary = fetched.summary
        return self._report_change(run, summary, _locate_message(watch, summary, known), known)

    def _report_change(
        self, run: SyncRun, summary: MessageSummary, location: MessageLocation | None, known: KnownMessage | None
    ) -> ProcessedMessage | None:
        if location is None:
            return None
        if known is None and run.is_before_start(summary):
            return _remember_old_mail(summary, location)
        # Mail that was remembered is received when the start is moved back, and it is not before it any more.
        if known is None or (_is_unreported(known) and not run.is_before_start(summary)):
            kind = MailKind.RECEIVED
        elif known.folder_id is not None and known.folder_id != location.folder_id:
            kind = MailKind.MOVED
        elif known.version != summary.version or known.state is not MessageState.OBSERVED:
            kind = MailKind.CHANGED
        else:
            return None  # a repeat of what is recorded
        summary = clean_summary(summary)
        event = map_mail_event(run.source, kind, summary, location, known, self._clock())
        return ProcessedMessage(
            summary=replace(summary, folder_id=location.folder_id),
            state=MessageState.OBSERVED,
            folder_id=location.folder_id,
            folder=location.name,
            mail_events=(event,),
        )


def _locate_message(watch: Watch, summary: MessageSummary, known: KnownMessage | None) -> MessageLocation | None:
    location = watch.locate_message(summary)
    if location is None and known is not None:
        # It was moved to a folder that is not watched, which is a move all the same.
        location = MessageLocation(summary.folder_id or "", "")
    return location


def _remember_by_id(run: SyncRun, message_id: str, received_before: datetime) -> ProcessedMessage | None:
    """Mail that only a list of ids shows. Where some folders are watched, it may lie in another: then it is remembered
    once it changes. A re-list from later than the start says nothing of what came in between."""
    if run.source.folders or received_before > run.start_at:
        return None
    return _remember_old_mail(MessageSummary(message_id=message_id), None)


def _remember_old_mail(summary: MessageSummary, location: MessageLocation | None) -> ProcessedMessage:
    """No event, and no more than what tells later changes: where it lies and in which version, if that is known."""
    return ProcessedMessage(
        summary=MessageSummary(message_id=summary.message_id, version=summary.version, received_at=summary.received_at),
        state=MessageState.OBSERVED,
        skip_reason=MailRejection.BEFORE_START,
        folder_id=location.folder_id if location else None,
        folder=location.name if location else None,
    )


def _is_unreported(known: KnownMessage) -> bool:
    return known.skip_reason == MailRejection.BEFORE_START


def _is_incomplete(run: SyncRun, summary: MessageSummary, known: KnownMessage | None) -> bool:
    """Headers tell newsletters and automated mail: worth a call once, when a mail is received."""
    if None in (summary.received_at, summary.version):
        return True
    is_first = known is None or _is_unreported(known)
    return is_first and summary.headers is None and not run.is_before_start(summary)
