"""Takes a message: fetched in the least calls, filtered, its parts judged and stored. Writes announcements only."""

from collections.abc import Sequence

from mailroom_common.blobs import BlobStore
from mailroom_common.events import Provider
from mailroom_common.providers.types import Message, MessageSummary
from sync_engine.domain.filters import RejectedMail, judge_mail, may_have_hidden_parts, needs_body
from sync_engine.domain.parts import needs_html
from sync_engine.domain.records import JudgedMessage, LeftPart, MessageState, TakenPart
from sync_engine.domain.texts import storable_summary
from sync_engine.domain.watched import Place, Watch
from sync_engine.handlers.items import Taken, Wanted, each
from sync_engine.handlers.run import Run
from sync_engine.handlers.take_part import TakePart
from sync_engine.run_ports import RunTables


class TakeMessages:
    def __init__(self, blobs: BlobStore, tables: RunTables, *, at_once: int) -> None:
        self._parts = TakePart(blobs, tables)
        self._at_once = at_once

    async def take(self, run: Run, watch: Watch, wanted: Sequence[Wanted]) -> Taken:
        """Those of `wanted` that are ours: watched, and not from before the start. Raises ItemUnavailable."""
        return await each(run, wanted, lambda item: self._take(run, watch, item), at_once=self._at_once)

    async def _take(self, run: Run, watch: Watch, item: Wanted) -> JudgedMessage | None:
        if item.summary is not None:
            if _is_passed_over(run, watch, item.summary):
                return None
            if judged := _judged_unfetched(run, watch, item.summary):
                return judged
        message = await self._fetched(run, item)
        place = watch.place(message.summary)
        if place is None or run.is_before_start(message.summary):
            return None
        return await self._judged(run, await self._with_what_decides(run, message), place)

    async def _fetched(self, run: Run, item: Wanted) -> Message:
        says_none = item.summary is not None and item.summary.has_attachments is False
        return await run.provider.fetch_message(
            run.mailbox, item.message_id, item.summary, with_parts=True if says_none else None
        )

    async def _with_what_decides(self, run: Run, message: Message) -> Message:
        """The message, with hidden parts that only now are worth asking for, and with the body where that decides."""
        summary, profile, rules = message.summary, run.source.profile, run.source.filter
        if (
            run.source.provider is Provider.OUTLOOK
            and summary.has_attachments is False
            and not message.parts
            and may_have_hidden_parts(summary, profile, rules)
        ):
            message = await run.provider.fetch_message(run.mailbox, summary.message_id, summary, with_parts=True)
        wants_body = any(needs_html(part) for part in message.parts) or needs_body(
            summary, message.parts, profile, rules
        )
        if not wants_body or message.html_body is not None:
            return message
        # The parts again too: their handles are good only right after the fetch.
        return await run.provider.fetch_message(
            run.mailbox, summary.message_id, summary, with_body=True, with_parts=True
        )

    async def _judged(self, run: Run, message: Message, place: Place) -> JudgedMessage:
        html = message.html_body or ""
        rejected = judge_mail(message.summary, message.parts, run.source.profile, run.source.filter, html=html)
        # One after the other: a message with a hundred parts must not hold a hundred streams.
        parts = [await self._parts.take(run, message, part, html=html, rejected=rejected) for part in message.parts]
        if not any(isinstance(part, TakenPart) for part in parts):
            return _closed(message.summary, place, rejected, parts)
        return JudgedMessage(
            summary=storable_summary(message.summary),
            state=MessageState.OPEN,
            folder_id=place.folder_id,
            folder=place.name,
            parts=tuple(parts),
        )


def _is_passed_over(run: Run, watch: Watch, summary: MessageSummary) -> bool:
    return run.is_before_start(summary) or (watch.can_tell(summary) and watch.place(summary) is None)


def _judged_unfetched(run: Run, watch: Watch, summary: MessageSummary) -> JudgedMessage | None:
    """A mail said to have no attachments, and that does not speak of a document either, costs no call at all."""
    place = watch.place(summary) if watch.can_tell(summary) else None
    if place is None or summary.received_at is None or summary.has_attachments is not False:
        return None
    profile, rules = run.source.profile, run.source.filter
    if may_have_hidden_parts(summary, profile, rules):
        return None
    return _closed(summary, place, judge_mail(summary, (), profile, rules) or RejectedMail.NO_DOCUMENT_WORDS)


def _closed(
    summary: MessageSummary, place: Place, reason: RejectedMail | None, parts: Sequence[TakenPart | LeftPart] = ()
) -> JudgedMessage:
    """Nothing of it is taken, so nothing is awaited."""
    return JudgedMessage(
        summary=storable_summary(summary),
        state=MessageState.CLOSED,
        folder_id=place.folder_id,
        folder=place.name,
        reason=None if reason is None else str(reason),
        parts=tuple(parts),
    )
