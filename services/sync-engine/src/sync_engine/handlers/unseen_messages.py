"""Observed messages that a listing from nothing has not shown: each may be gone, a few at a time."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from mailroom_common.providers.types import Change, ChangeKind
from sync_engine.handlers.change_batches import MAX_BATCH_MESSAGES
from sync_engine.ports import Messages

# So many are in memory, however many there are.
_PAGE_SIZE = 500


class UnseenMessages:
    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    async def list_batches(
        self, doc_source_id: str, folder_id: str | None, since: datetime
    ) -> AsyncIterator[Sequence[Change]]:
        """Of a folder (None: of the mailbox), each once, as removals that are to be confirmed."""
        after = ""
        while page := await self._messages.list_observed_not_listed_since(
            doc_source_id, folder_id, since, after=after, limit=_PAGE_SIZE
        ):
            changes = [Change(ChangeKind.REMOVED, message.message_id) for message in page]
            for start in range(0, len(changes), MAX_BATCH_MESSAGES):
                yield changes[start : start + MAX_BATCH_MESSAGES]
            after = page[-1].message_id
