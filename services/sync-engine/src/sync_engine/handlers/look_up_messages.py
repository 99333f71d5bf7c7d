"""Looks up the unknown mails of a folder's changes together, by when they were received.

Changes come without parts and headers, and to ask for each mail by its id costs a call. A list of the folder has both:
one page of it, which is one call, shows up to fifty mails. What it does not show is asked for by its id.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice

from mailroom_common.errors import AccessDenied, CallDeferred, ProviderUnavailable, Rejected, Retryable, Throttled
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import ChangeListing
from mailroom_common.providers.types import Change, ChangeKind, MessageSummary, SummaryPage
from sync_engine.handlers.change_batches import MAX_BATCH_MESSAGES
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.unfinished_pages import PageProgress
from sync_engine.ports import Messages

log = get_logger()

# Fewer are asked for by their ids: a page of the list is the heavier call.
_MIN_MESSAGES = 3
# So many are in memory, and the facts of the last of them are not much older than its batch.
_MAX_MESSAGES = MAX_BATCH_MESSAGES
# After a look-up that failed or found nothing, the mails of that source are asked for by their ids for so long, and for
# the pause that the provider asks for: a look-up that always fails must not end each run before its first mail.
_BACK_OFF_S = 60.0
_MAX_BACKING_OFF = 10_000

Summaries = dict[str, MessageSummary]  # by message id


class LookUpMessages:
    def __init__(self, messages: Messages, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._messages = messages
        self._monotonic = monotonic
        # By doc source, in memory: what is forgotten costs a call.
        self._backing_off_until: OrderedDict[str, float] = OrderedDict()

    def open_page(
        self,
        run: SyncRun,
        folder_id: str,
        changes: Sequence[Change],
        progress: PageProgress,
        hints: Mapping[str, MessageSummary],
    ) -> "PageLookUp":
        """`hints` are summaries that are known already."""
        shown: Summaries = {}
        if run.provider.traits.change_listing is ChangeListing.FOLDER_DELTAS:
            for change in changes:
                summary = change.summary if change.kind is ChangeKind.PRESENT else None
                is_done = change.message_id in hints or progress.is_processed(change)
                if summary is not None and not is_done and _may_be_looked_up(run, summary):
                    shown[change.message_id] = summary
        return PageLookUp(self, run, folder_id, shown)

    async def look_up(self, run: SyncRun, folder_id: str, shown: Sequence[MessageSummary]) -> Summaries:
        """The summaries in the list of those that are unknown, where they are not older than what the changes have
        `shown`.

        Raises CallDeferred, and what ends the access to the whole mailbox.
        """
        found: Summaries = {}
        if len(shown) < _MIN_MESSAGES or self._is_backing_off(run):
            return found
        known = await self._messages.find_known(run.doc_source_id, [summary.message_id for summary in shown])
        unknown = [summary for summary in shown if summary.message_id not in known]
        if len(unknown) < _MIN_MESSAGES:
            return found
        try:
            await _read_list(run, folder_id, unknown, found)
        except CallDeferred:
            raise  # a mail that is asked for by its id would wait as long
        except (Throttled, ProviderUnavailable, Rejected, AccessDenied) as error:
            # The mails are asked for by their ids for a minute: that tells whether it is the mailbox that fails.
            log.warning("look_up_failed", doc_source_id=run.doc_source_id, scope=folder_id, reason=str(error))
            self._back_off(run, pause_s=error.retry_after_s if isinstance(error, Retryable) else None)
        else:
            if not found:
                self._back_off(run)
        return found

    def _back_off(self, run: SyncRun, *, pause_s: float | None = None) -> None:
        self._backing_off_until[run.doc_source_id] = self._monotonic() + (pause_s or 0.0) + _BACK_OFF_S
        self._backing_off_until.move_to_end(run.doc_source_id)
        if len(self._backing_off_until) > _MAX_BACKING_OFF:
            self._backing_off_until.popitem(last=False)

    def _is_backing_off(self, run: SyncRun) -> bool:
        return self._backing_off_until.get(run.doc_source_id, 0.0) > self._monotonic()


class PageLookUp:
    """The mails of one page, some at once, shortly before they are processed."""

    def __init__(self, messages: LookUpMessages, run: SyncRun, folder_id: str, shown: Summaries) -> None:
        self._messages = messages
        self._run = run
        self._folder_id = folder_id
        self._ahead = shown  # in the order of the page
        self._found: Summaries = {}

    async def find_summaries(self, batch: Sequence[Change]) -> Summaries:
        """Of the next batch of the page. Raises as `look_up` does."""
        ids = [change.message_id for change in batch]
        if any(message_id in self._ahead for message_id in ids):
            shown = [self._ahead.pop(message_id) for message_id in list(islice(self._ahead, _MAX_MESSAGES))]
            self._found |= await self._messages.look_up(self._run, self._folder_id, shown)
        return {message_id: self._found.pop(message_id) for message_id in ids if message_id in self._found}


def _may_be_looked_up(run: SyncRun, summary: MessageSummary) -> bool:
    if summary.received_at is None or run.is_before_start(summary):
        return False
    return summary.headers is None or (summary.parts is None and not run.is_observing)


async def _read_list(run: SyncRun, folder_id: str, shown: Sequence[MessageSummary], found: Summaries) -> None:
    """Page by page, by time and never by link. Each page begins at a mail that is wanted, so that those between two of
    them cost nothing, and goes on only while each has shown two: together they cost a call more than the mails would
    at worst."""
    by_id = {summary.message_id: summary for summary in shown}
    missing = sorted((summary.received_at, summary.message_id) for summary in shown if summary.received_at)
    pages = 0
    while len(missing) >= _MIN_MESSAGES and len(found) >= 2 * pages - 1:
        since, until = missing[0][0], missing[-1][0]
        page = await run.provider.list_received(run.mailbox, folder_id, since, until)
        pages += 1
        for listed in page.summaries:
            summary = by_id.get(listed.message_id)
            if summary is not None and _is_as_new(listed, summary):
                found[listed.message_id] = listed
        missing = _leave_out_listed(missing, page, since)


def _is_as_new(listed: MessageSummary, shown: MessageSummary) -> bool:
    """The list may lag behind the changes. Times are of whole seconds: two versions may have the same."""
    if listed.version is not None and listed.version == shown.version:
        return True
    return listed.modified_at is not None and shown.modified_at is not None and listed.modified_at > shown.modified_at


def _leave_out_listed(
    missing: Sequence[tuple[datetime, str]], page: SummaryPage, since: datetime
) -> list[tuple[datetime, str]]:
    """Those that a further page may show. What would have been on this page is not in the folder any more, or not in
    the list yet."""
    end = page.resume_after
    if end is None:
        return []
    listed = {summary.message_id for summary in page.summaries}
    # More of the same time as the last one may follow; but by time there is no way past a page of one time.
    return [
        (at, message_id)
        for at, message_id in missing
        if message_id not in listed and (at > max(end, since) or at == end > since)
    ]
