"""Tells what became of the mails of an observed mailbox: metadata only, never a body, never an attachment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import ItemGone
from mailroom_common.events import MailKind
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.records import JudgedMessage, KnownMessage, MessageState
from sync_engine.domain.texts import storable_summary
from sync_engine.domain.told import mail_event
from sync_engine.domain.watched import Place, Watch
from sync_engine.handlers.items import Taken, Wanted, each
from sync_engine.handlers.run import Run


class ObserveMessages:
    def __init__(self, clock: Callable[[], datetime], *, at_once: int) -> None:
        self._clock = clock
        self._at_once = at_once

    async def observe(
        self, run: Run, watch: Watch, wanted: Sequence[Wanted], known: Mapping[str, KnownMessage]
    ) -> Taken:
        """What differs from what we know. A removal is believed once the mail cannot be fetched any more."""
        return await each(
            run, wanted, lambda item: self._look(run, watch, item, known.get(item.message_id)), at_once=self._at_once
        )

    def vanished(self, run: Run, known: KnownMessage) -> JudgedMessage | None:
        """The provider said for certain that it is deleted; None when that is told already, or never was ours."""
        if known.state is not MessageState.OBSERVED:
            return None
        summary = MessageSummary(message_id=known.message_id)
        event = mail_event(run.source, MailKind.REMOVED, summary, None, known, self._clock())
        return JudgedMessage(summary=summary, state=MessageState.REMOVED, folder_id=known.folder_id, told=(event,))

    async def _look(self, run: Run, watch: Watch, item: Wanted, known: KnownMessage | None) -> JudgedMessage | None:
        summary = item.summary
        if summary is not None and known is None and run.is_before_start(summary):
            return None
        if summary is None or _says_too_little(summary, known):
            try:
                fetched = await run.provider.fetch_message(run.mailbox, item.message_id)
            except ItemGone:
                if item.may_be_gone:
                    return self.vanished(run, known) if known else None
                raise
            summary = fetched.summary
        return self._told(run, summary, self._place(watch, summary, known), known)

    @staticmethod
    def _place(watch: Watch, summary: MessageSummary, known: KnownMessage | None) -> Place | None:
        place = watch.place(summary)
        if place is None and known is not None:
            # It went where we do not look, which is a move all the same.
            place = Place(summary.folder_id or "", "")
        return place

    def _told(
        self, run: Run, summary: MessageSummary, place: Place | None, known: KnownMessage | None
    ) -> JudgedMessage | None:
        if place is None:
            return None
        if known is None:
            if run.is_before_start(summary):
                return None
            kind = MailKind.RECEIVED
        elif known.folder_id != place.folder_id:
            kind = MailKind.MOVED
        elif known.version != summary.version or known.state is not MessageState.OBSERVED:
            kind = MailKind.CHANGED
        else:
            return None  # a replay
        summary = storable_summary(summary)
        event = mail_event(run.source, kind, summary, place, known, self._clock())
        return JudgedMessage(
            summary=replace(summary, folder_id=place.folder_id),
            state=MessageState.OBSERVED,
            folder_id=place.folder_id,
            folder=place.name,
            told=(event,),
        )


def _says_too_little(summary: MessageSummary, known: KnownMessage | None) -> bool:
    """Headers tell newsletters and machines: worth a call once, when a mail is received."""
    return None in (summary.received_at, summary.version) or (known is None and summary.headers is None)
