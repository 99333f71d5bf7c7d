"""Whether a mailbox works, and why it is behind: what the APIs say of a doc source, in sentences. No I/O here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

# A backstop sync comes every 15 minutes, and a success is reported at most once a minute.
_LATE_AFTER = timedelta(minutes=20)

_PENDING_SENTENCES = {
    "authorization_pending": "waits for the consent of the mailbox's owner",
    "consent_declined": "the owner did not give access",
    "consent_rejected": "the provider's answer was not as required",
    "other_mailbox": "another mailbox signed in",
    "address_unverified": "the provider does not prove the address: name its tenant, or the sign-in name",
    "folders_missing": "a folder is missing",
    "folders_refused": "the provider does not show the folders",
    "already_connected": "this mailbox is connected for this profile already",
}
_STATUS_SENTENCES = {
    "token_refresh_failed": "the provider refuses the grant: `mailroom sources authorize {id}` makes a new link",
    "subscription_expired": "the provider sends no notifications: new mail comes with the backstop sync only",
    "provider_error": "the provider refuses the mailbox or keeps failing",
}

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """`troubles` keep mail from coming; `notes` are worth knowing."""

    troubles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_working(self) -> bool:
        return not self.troubles

    @property
    def summary(self) -> str:
        return (self.troubles or self.notes or ("works",))[0]


def judge_source(
    source: Item, state: Item | None, runs: Sequence[Item], parked: Sequence[Item], now: datetime
) -> SourceHealth:
    """`runs` and `parked` are newest first."""
    if source["state"] == "pending":
        return SourceHealth((_explain_pending(source),))
    if source["state"] == "paused":
        return SourceHealth((f"is paused: `mailroom sources resume {source['id']}` goes on",))
    if source["state"] != "active":
        return SourceHealth((f"is {source['state']}",))
    troubles = [*_find_connection_troubles(source), *_find_sync_troubles(source, state, runs, now)]
    return SourceHealth(tuple(troubles), tuple(_find_notes(source, state, parked, now)))


def _explain_pending(source: Item) -> str:
    reason = str(source["connection_reason"])
    sentence = _PENDING_SENTENCES.get(reason, reason)
    error = source.get("current_error")
    return f"{sentence}{f' ({error})' if error else ''}: `mailroom sources authorize {source['id']}` makes a new link"


def _find_connection_troubles(source: Item) -> Iterator[str]:
    status = source["connection_status"]
    if status not in (None, "active"):
        why = source.get("current_error") or source["connection_reason"]
        yield f"{_STATUS_SENTENCES.get(status, str(status)).format(id=source['id'])}{f' ({why})' if why else ''}"


def _find_sync_troubles(source: Item, state: Item | None, runs: Sequence[Item], now: datetime) -> Iterator[str]:
    if state is None:
        yield "no worker has read it yet: is sync-engine's worker running?"
        return
    if state["is_grant_refused"]:
        yield f"no sync before a new consent: `mailroom sources authorize {source['id']}` makes a link"
    if state["failed_attempts"]:
        yield f"{state['failed_attempts']} failed syncs in a row{_explain_last_run(runs)}{_next_attempt(state, now)}"
    elif runs and runs[0]["outcome"] == "failed":
        # It is the site's own failure, which says nothing of the mailbox, and counts as no failed sync of it.
        yield f"the last sync failed{_explain_last_run(runs[:1])}: the log of sync-engine's worker says more"
    last = _parse_time(source["last_successful_sync_at"])
    since = last or _parse_time(source["created_at"])
    if since is not None and now - since > _LATE_AFTER:
        word = "the last successful sync was" if last else "no sync has succeeded since it was connected,"
        yield f"is behind: {word} {format_age(now - since)} ago{_next_attempt(state, now)}"
    if state["missing_folders"]:
        yield f"the mailbox has no folder {', '.join(state['missing_folders'])}"


def _find_notes(source: Item, state: Item | None, parked: Sequence[Item], now: datetime) -> Iterator[str]:
    if source["connection_status"] == "active" and source["subscription_expires_at"] is None:
        why = f" ({source['current_error']})" if source.get("current_error") else ""
        yield f"the provider sends no notifications yet: new mail comes with the backstop sync{why}"
    if state is not None and state["open_messages"]:
        yield f"{state['open_messages']} mails wait for their documents to be read"
    if state is not None and state["parked_items"]:
        reason = f": {parked[0]['reason']}" if parked else ""
        upcoming = [parsed for item in parked if (parsed := _parse_time(item["next_attempt_at"])) is not None]
        when = f", {_describe_attempt(min(upcoming), now)}" if upcoming else ""
        yield f"{state['parked_items']} mails are parked{reason}{when}"


def _explain_last_run(runs: Sequence[Item]) -> str:
    detail = next((run["detail"] for run in runs if run["detail"]), None)
    return f" ({detail})" if detail else ""


def _describe_attempt(at: datetime, now: datetime) -> str:
    return f"tried again in {format_age(at - now)}" if at > now else "to be tried again now"


def _next_attempt(state: Item, now: datetime) -> str:
    not_before = _parse_time(state["not_before"])
    return f"; next attempt in {format_age(not_before - now)}" if not_before and not_before > now else ""


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def format_age(age: timedelta) -> str:
    seconds = max(0, round(age.total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
