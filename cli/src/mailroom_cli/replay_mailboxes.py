"""Has mailboxes listed again from a date, through the API, and waits for the runs that do it."""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mailroom_cli.pacing import Pacer
from mailroom_cli.site_api import SiteAPI, quote_segment
from mailroom_cli.terminal import print_line
from mailroom_common.errors import Rejected, Unavailable

_POLL_S = 2.0
_MAX_COUNTED = 200  # one page of the API


@dataclass(frozen=True, slots=True)
class MailboxReplay:
    """`wait_s` None does not wait for the runs."""

    doc_source_ids: tuple[str, ...]
    relist_from: datetime
    start_at: datetime | None
    wait_s: float | None


def describe_mailboxes(api: SiteAPI, request: MailboxReplay) -> list[dict[str, Any]]:
    """A dry run. How much would be taken only the provider knows; what is wrong with the request shows here."""
    return [_describe_mailbox(api, request, doc_source_id) for doc_source_id in request.doc_source_ids]


def _describe_mailbox(api: SiteAPI, request: MailboxReplay, doc_source_id: str) -> dict[str, Any]:
    source = api.call("GET", f"/doc-sources/{quote_segment(doc_source_id)}")
    return {
        "id": source["id"],
        "address": source["address"],
        "state": source["state"],
        "start_at": source["start_at"],
        "messages_known": _count_messages(api, doc_source_id),
        "problem": _find_problem(request, source),
    }


def _find_problem(request: MailboxReplay, source: dict[str, Any]) -> str | None:
    """In the words of the command: the API's own speak of its fields."""
    if source["state"] not in ("active", "paused"):
        return f"it is {source['state']}"
    current = None if source["start_at"] is None else datetime.fromisoformat(source["start_at"])
    start_at = request.start_at or current
    if start_at is not None and request.relist_from < start_at:
        return f"mail before start_at ({start_at:%Y-%m-%dT%H:%MZ}) is never taken: give --start-at too"
    return None


def _count_messages(api: SiteAPI, doc_source_id: str) -> str:
    """As many as a few calls show: of a large mailbox, at least so many."""
    count = len(api.list_items("/messages", {"doc_source_id": doc_source_id}, most=_MAX_COUNTED))
    return f"{count} or more" if count == _MAX_COUNTED else str(count)


async def relist_mailboxes(api: SiteAPI, request: MailboxReplay, pacer: Pacer) -> list[dict[str, Any]]:
    found = []
    for doc_source_id in request.doc_source_ids:
        source = api.call("GET", f"/doc-sources/{quote_segment(doc_source_id)}")
        if problem := _find_problem(request, source):
            raise Rejected(f"{source['address'] or doc_source_id}: {problem}")
        await pacer.wait_turn()
        body = {"relist_from": request.relist_from.isoformat()}
        if request.start_at is not None:
            body["start_at"] = request.start_at.isoformat()
        source = api.call("PATCH", f"/doc-sources/{quote_segment(doc_source_id)}", body=body)
        print_line(f"{source['id']} {source['address']}: asked for", err=True)
        found.append(source)
    deadline = None if request.wait_s is None else time.monotonic() + request.wait_s
    return [await _describe_relist(api, source, deadline) for source in found]


async def _describe_relist(api: SiteAPI, source: dict[str, Any], deadline: float | None) -> dict[str, Any]:
    about = {name: source[name] for name in ("id", "address", "state", "relist_from", "start_at")}
    if deadline is None:
        return about
    if source["state"] != "active":
        raise Rejected(f"{source['id']} is {source['state']}: it is listed again when it is resumed")
    run = await _wait_for_run(api, source["id"], source["relist_number"], deadline)
    return {**about, "new_messages": run["new_messages"], "stored_parts": run["stored_parts"]}


async def _wait_for_run(api: SiteAPI, doc_source_id: str, relist_number: int, deadline: float) -> dict[str, Any]:
    """The full run that ended the re-list well; those that failed are repeated by themselves."""
    while True:
        page = api.call("GET", "/sync-runs", query={"doc_source_id": doc_source_id, "limit": "50"})
        # Newest first: the oldest of them ended it, and the later ones found new mail. A later re-list has done it too.
        for run in reversed(page["items"]):
            is_of_relist = run["relist_number"] >= relist_number
            if is_of_relist and run["kind"] == "all_cursors" and run["outcome"] == "done":
                found: dict[str, Any] = run
                return found
        if time.monotonic() > deadline:
            raise Unavailable(f"{doc_source_id} is still being listed: GET /sync-runs shows how far it is")
        await asyncio.sleep(_POLL_S)
