"""Has documents read again through the API, page by page: a page that is sent again asks for nothing twice."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from mailroom_cli.pacing import Pacer, Progress
from mailroom_cli.site_api import SiteAPI
from mailroom_cli.source_views import DocSourceId
from mailroom_common.errors import Rejected

_PATH = "/documents/reprocess"
_MAX_PAGE = 50


class FinalStatus(StrEnum):
    """What waits to be read is not asked for again."""

    COMPLETED = "completed"  # read, complete and consistent
    NEEDS_REVIEW = "needs_review"  # a person has to look
    SKIPPED = "skipped"  # nothing for its doc source
    FAILED = "failed"  # given up after all attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSelection:
    """The filters of `POST /documents/reprocess`; None matches any document."""

    status: str | None
    reason: str | None
    reader: str | None
    except_reader: str | None
    doc_source_id: DocSourceId | None
    created_since: datetime | None
    created_before: datetime | None

    def build_body(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in values.items()
            if value is not None
        }


def count_documents(api: SiteAPI, selection: DocumentSelection, replay_id: str) -> int:
    """Those that this replay has not asked for yet."""
    body = {**selection.build_body(), "replay_id": replay_id, "dry_run": True}
    answer = api.call("POST", _PATH, body=body)
    return int(answer["matching"])


def require_known_reader(api: SiteAPI, reader: str, replay_id: str) -> None:
    """
    Raises:
        Rejected: it read no document.
    """
    body = {"reader": reader, "replay_id": replay_id, "dry_run": True}
    if not api.call("POST", _PATH, body=body)["matching"]:
        raise Rejected(
            f"no document is read by {reader}: `mailroom documents show` has a document's `reader`, as layout-rules/4"
        )


async def replay_documents(
    api: SiteAPI, selection: DocumentSelection, replay_id: str, pacer: Pacer, progress: Progress
) -> dict[str, int]:
    """Until no page is left. Where it ended needs no memory: ingestion knows which it has asked for."""
    matching = requested = 0
    cursor: str | None = None
    page_size = min(_MAX_PAGE, pacer.turns_a_second)
    while True:
        await pacer.wait_turn(page_size)
        body = {**selection.build_body(), "replay_id": replay_id, "limit": page_size}
        page = api.call("POST", _PATH, body=body if cursor is None else {**body, "cursor": cursor})
        matching += page["matching"]
        requested += page["requested"]
        progress.counts["read again"] += page["requested"]
        progress.counts["waiting to be read already"] += page["matching"] - page["requested"]
        progress.advance(page["matching"])
        if (cursor := page["next_cursor"]) is None:
            return {"matching": matching, "requested": requested}
