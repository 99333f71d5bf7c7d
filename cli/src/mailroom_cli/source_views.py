"""What the commands print of doc sources: columns for people, JSON for scripts."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NewType
from uuid import UUID

from mailroom_cli.site_api import JSON, SiteAPI
from mailroom_cli.source_health import SourceHealth, format_age, judge_source
from mailroom_cli.terminal import print_line, print_text
from mailroom_common.errors import Rejected

DocSourceId = NewType("DocSourceId", str)  # of one that was found; what a person typed may be an address

_SHOWN_RUNS = 5
_SHOWN_KNOWN = 10
_SHORT_ID = 8
# What a list shows at most.
MAX_LISTED = 200


def find_source(api: SiteAPI, name: str) -> JSON:
    """By id, by the beginning of one, or by address.

    Raises:
        Rejected: there is none, or several.
    """
    wanted = name.strip().lower()
    if "@" in wanted:
        # Not through the list of all, which has a page for each 200 mailboxes.
        found = api.list_items("/doc-sources", {"address": wanted})
    else:
        found = [source for source in api.list_items("/doc-sources") if str(source["id"]).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        some = api.list_items("/doc-sources", most=_SHOWN_KNOWN)
        known = ", ".join(str(source["address"] or source["id"]) for source in some) or "none yet"
        raise Rejected(f"no doc source is named {name}; there are: {known}")
    ids = ", ".join(f"{source['id']} ({source['profile']}, {source['state']})" for source in found)
    raise Rejected(f"several doc sources are named {name}: {ids}. Give the id.")


def find_source_id(api: SiteAPI, name: str) -> DocSourceId:
    """As `find_source`; a whole id is taken as it is, without a list of all doc sources."""
    try:
        return DocSourceId(str(UUID(name)))
    except ValueError:
        return DocSourceId(find_source(api, name)["id"])


def look_at_source(api: SiteAPI, source: JSON) -> tuple[SourceHealth, JSON]:
    """Its health, and all that it was judged by."""
    query = {"doc_source_id": str(source["id"])}
    states = api.list_items("/sync-states", query, most=1)
    runs = api.list_items("/sync-runs", query, most=_SHOWN_RUNS)
    parked = api.list_items("/parked-items", query, most=_SHOWN_RUNS)
    state = states[0] if states else None
    health = judge_source(source, state, runs, parked, datetime.now(UTC))
    return health, {"sync_state": state, "sync_runs": runs, "parked_items": parked}


def build_health_json(source: JSON, health: SourceHealth, facts: JSON) -> JSON:
    judged = {"is_working": health.is_working, "troubles": list(health.troubles), "notes": list(health.notes)}
    return {**source, **facts, **judged}


def describe_filter(rules: JSON) -> str:
    named = {"always": rules["sender_allow"], "never": rules["sender_deny"]}
    lists = [f"{when} from {', '.join(senders)}" for when, senders in named.items() if senders]
    return "; ".join([str(rules["strictness"]), *lists])


def print_json(value: Any) -> None:  # Any: JSON
    """In one line for programs, and indented for whoever looks at a terminal."""
    if sys.stdout.isatty():
        print_text(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        print_line(json.dumps(value, ensure_ascii=False))


def note_limit(items: Sequence[JSON], most: int, rest: str) -> None:
    """A list that ends at its limit looks like all there is."""
    if len(items) >= most:
        print_line(f"The newest {most} are shown: {rest}.", err=True)


def print_columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """As wide as their longest cell, the last one as long as it is."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        print_line("  ".join([*cells, line[-1]]))


def build_row(source: JSON, text: str) -> list[str]:
    return [
        str(source["id"])[:_SHORT_ID],
        source["provider"],
        source["profile"],
        source["address"] or "-",
        source["state"],
        _format_time(source["last_successful_sync_at"]),
        text,
    ]


ROW_HEAD = ("id", "provider", "profile", "address", "state", "last sync", "")


def print_source(source: JSON, health: SourceHealth, facts: JSON) -> None:
    """Everything of one doc source: its fields, its health, its last runs and its parked mails."""
    hidden = {"authorize_url", "filter"}
    for name, value in source.items():
        if value not in (None, [], "") and name not in hidden:
            print_line(f"{name:26}{', '.join(value) if isinstance(value, list) else value}")
    if "filter" in source:
        print_line(f"{'filter':26}{describe_filter(source['filter'])}")
    print_line("")
    for sentence in health.troubles or ("works",):
        print_line(f"{'!' if health.troubles else '✓'} {sentence}")
    for sentence in health.notes:
        print_line(f"· {sentence}")
    if facts["sync_runs"]:
        print_text("\nlast runs")
        print_columns(
            ("started", "kind", "asked for by", "outcome", "new mails", ""), _build_run_rows(facts["sync_runs"])
        )
    if facts["parked_items"]:
        print_text("\nparked")
        print_columns(("message", "reason", "attempts", "next attempt", ""), map(_parked_row, facts["parked_items"]))


def _build_run_rows(runs: Sequence[JSON]) -> Iterator[list[str]]:
    """Newest first. One without an outcome is under way, unless another of its kind has begun since: then its worker
    was killed, and that one went on with its work."""
    begun_since: set[str] = set()
    for run in runs:
        yield _build_run_row(run, "interrupted" if run["kind"] in begun_since else "under way")
        begun_since.add(run["kind"])


def _build_run_row(run: JSON, without_outcome: str) -> list[str]:
    outcome = run["outcome"] or without_outcome
    reasons = ", ".join(run["reasons"])
    return [
        _format_time(run["started_at"]),
        run["kind"],
        reasons,
        outcome,
        str(run["new_messages"]),
        run["detail"] or "",
    ]


def _parked_row(item: JSON) -> list[str]:
    when = _format_time(item["next_attempt_at"])
    return [item["message_id"][:24], item["reason"], str(item["attempts"]), when, item["detail"] or ""]


def _format_time(text: str | None) -> str:
    if text is None:
        return "-"
    age = datetime.now(UTC) - datetime.fromisoformat(text)
    return f"in {format_age(-age)}" if age.total_seconds() < 0 else f"{format_age(age)} ago"
