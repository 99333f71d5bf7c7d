"""Where the sync of one folder, or of a whole mailbox, stands: the provider's sync tokens and our version of them."""

from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A row of `cursor`; `version` 0 means that there is no row yet.

    `scope` is a folder id, or one of the two scopes of a mailbox with a history: `HISTORY_SCOPE`, `RELIST_SCOPE`.

    `relist_started_at` is set while a round from nothing (a first sync, or one after a refused position) is under
    way. `relist_since` is from when a mailbox with a history is listed again, None: from the start of the doc source.
    """

    scope: str
    position: str | None = None
    page_token: str | None = None
    relist_started_at: datetime | None = None
    relist_since: datetime | None = None
    version: int = 0
    updated_at: datetime | None = None  # when it was stored; None before

    @property
    def has_no_position(self) -> bool:
        return self.position is None

    @property
    def is_in_first_round(self) -> bool:
        """The cursor exists, and its round from nothing has not come to its end."""
        return self.version > 0 and self.position is None

    def stay_on_page(self, now: datetime) -> "Cursor":
        """After a batch that is not the last of its page: the same page is read again after a crash."""
        return replace(self, relist_started_at=self._choose_round_start(now))

    def advance_to_page(self, page_token: str, now: datetime) -> "Cursor":
        return replace(self, page_token=page_token, relist_started_at=self._choose_round_start(now))

    def finish_round(self, position: str) -> "Cursor":
        return replace(self, position=position, page_token=None, relist_started_at=None)

    def restart_round(self) -> "Cursor":
        """The page token was refused: the same round from its beginning."""
        return replace(self, page_token=None)

    def restart_from_nothing(self) -> "Cursor":
        """The position was refused: all that is there is listed again."""
        return replace(self, position=None, page_token=None, relist_started_at=None)

    def _choose_round_start(self, now: datetime) -> datetime | None:
        return (self.relist_started_at or now) if self.has_no_position else None
