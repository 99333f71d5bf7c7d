"""In one image of the cluster test only: sync-engine drops a page, as a bug would, so that the comparison fails.

The messages of the first page that has any are dropped, now and whenever they are listed again; its cursor moves on.
"""

from dataclasses import replace
from typing import Any

from sync_engine.adapters.pages import PgPages
from sync_engine.domain.message_records import CommittedPage, PageUpdate

_commit_page = PgPages.commit_page
_dropped: set[str] = set()


async def _commit_page_without_dropped(self: PgPages, source: Any, update: PageUpdate, now: Any) -> CommittedPage:
    if not _dropped:
        _dropped.update(message.message_id for message in update.messages)
    kept = tuple(message for message in update.messages if message.message_id not in _dropped)
    return await _commit_page(self, source, replace(update, messages=kept), now)


PgPages.commit_page = _commit_page_without_dropped  # type: ignore[method-assign] # the bug
