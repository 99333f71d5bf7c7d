"""Remembers what was processed of an interrupted page and left no row, so that it is not asked for again at once."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mailroom_common.providers.ports import RELIST_SCOPE
from mailroom_common.providers.types import Change, ChangeKind
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.sync_run import SyncRun

_MAX_PAGES = 2000


@dataclass(slots=True)
class PageProgress:
    """One page of one cursor: which of its messages left no row, and in which revision they were listed.

    A later change of such a message may come on the same page, since the last page of a list grows. So a message is
    passed over only where its revision is the same, and never where the provider tells none.
    """

    page: tuple[object, ...]
    watch: Watch
    scope: str
    _revisions: dict[str, tuple[ChangeKind, str | None]] = field(default_factory=dict)

    def record_rowless(self, changes: Iterable[Change]) -> None:
        self._revisions |= {change.message_id: (change.kind, _read_revision(change)) for change in changes}

    def is_processed(self, change: Change) -> bool:
        revision = _read_revision(change)
        # A removal has no revision: a message that came back is listed as present. Nor has a re-list, beside which the
        # history tells of every change.
        is_comparable = revision is not None or change.kind is ChangeKind.REMOVED or self.scope == RELIST_SCOPE
        return is_comparable and self._revisions.get(change.message_id) == (change.kind, revision)

    @property
    def is_empty(self) -> bool:
        return not self._revisions


class UnfinishedPages:
    """In memory only, and one page per cursor: what is forgotten is fetched once more, no mail depends on it."""

    def __init__(self, max_pages: int = _MAX_PAGES) -> None:
        self._max_pages = max_pages
        self._pages: OrderedDict[tuple[str, str], PageProgress] = OrderedDict()

    @contextmanager
    def continue_page(self, run: SyncRun, watch: Watch, cursor: Cursor) -> Iterator[PageProgress]:
        """What is known of the page at which `cursor` stands; kept when the page is interrupted, dropped at its end."""
        key = (run.doc_source_id, cursor.scope)
        # The version of the source has its filter and its start. Each re-list is another one: it begins where the
        # history was lost, so what an earlier one saw is too old.
        relist = cursor.relist_started_at if cursor.scope == RELIST_SCOPE else None
        page = (run.source.version, cursor.position, cursor.page_token, relist)
        progress = self._pages.pop(key, None)
        if progress is None or progress.page != page or progress.watch != watch:
            progress = PageProgress(page, watch, cursor.scope)
        try:
            yield progress
        except BaseException:
            self._keep_page(key, progress)
            raise

    def _keep_page(self, key: tuple[str, str], progress: PageProgress) -> None:
        if progress.is_empty:
            return
        self._pages[key] = progress
        if len(self._pages) > self._max_pages:
            self._pages.popitem(last=False)


def _read_revision(change: Change) -> str | None:
    return change.revision or (change.summary.version if change.summary else None)
