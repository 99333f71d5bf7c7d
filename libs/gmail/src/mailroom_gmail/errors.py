"""Maps Gmail's refusals to our errors, in the classic shape (`errors[].reason`) and the newer one (`status`).

A rate limit comes as 403 or as 429; not every 403 is lost access. Source: providers/gmail.md 11.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mailroom_common.errors import (
    AccessDenied,
    CursorRefused,
    ItemGone,
    MailboxGone,
    MailroomError,
    PageTokenRefused,
    ProviderUnavailable,
    Rejected,
    Throttled,
)
from mailroom_common.providers.calls import Refusal, RefusalMapper
from mailroom_common.providers.http import MAX_WAIT_S, sanitize_code
from mailroom_common.providers.types import Mailbox

# Compared without case and underscores: RATE_LIMIT_EXCEEDED is rateLimitExceeded.
_RATE = {"ratelimitexceeded", "userratelimitexceeded", "resourceexhausted", "concurrentrequestslimitexceeded"}
_PROJECT_QUOTA = {"dailylimitexceeded", "quotaexceeded"}
# The quota of the whole project is spent for the day: a short wait only spends more.
_PROJECT_QUOTA_WAIT_S = 3600.0
_NO_GMAIL = "mail service not enabled"
_RETRY_AFTER = re.compile(r"[Rr]etry after (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z?)")


def map_refusal(_mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """The general table; a 404 means the item, and where it means the history, its call says so."""
    error = refusal.payload.get("error")
    reasons = tuple(_iter_reasons(error))
    sentence = refusal.build_sentence("Gmail", reasons[0] if reasons else "")
    known = {_normalize_reason(reason) for reason in reasons}
    if known & _PROJECT_QUOTA:
        return Throttled(sentence, retry_after_s=refusal.retry_after_s or _PROJECT_QUOTA_WAIT_S)
    if refusal.status == 429 or (refusal.status == 403 and known & _RATE):
        return Throttled(sentence, retry_after_s=refusal.retry_after_s or _parse_named_wait_s(error))
    if refusal.status >= 500 or refusal.status == 408:
        return ProviderUnavailable(sentence, retry_after_s=refusal.retry_after_s)
    if known & {"accessnotconfigured", "servicedisabled"}:  # off in our project: the operator's, for all mailboxes
        return ProviderUnavailable(
            f"{sentence}: the Gmail API is switched off in the project of MAILROOM_GOOGLE_CLIENT_ID"
        )
    if refusal.status in (401, 403):
        return AccessDenied(sentence)
    if refusal.status in (404, 410):
        return ItemGone(sentence)
    if "failedprecondition" in known:
        return _map_failed_precondition(error, sentence)
    if 300 <= refusal.status < 400:
        return ProviderUnavailable(f"{sentence}: redirects are not followed")
    return Rejected(sentence)


def build_list_mapper(*, is_page: bool, is_history: bool) -> RefusalMapper:
    """For lists: 404 on the history is a start that is too old, the same body as a message that is gone."""

    def map_list_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
        error = map_refusal(mailbox, refusal)
        if is_history and isinstance(error, ItemGone):
            return CursorRefused(str(error))
        if isinstance(error, Rejected) and refusal.status == 400:
            if is_page:
                return PageTokenRefused(str(error))
            if is_history:
                return CursorRefused(str(error))
        return error

    return map_list_refusal


def _map_failed_precondition(error: Any, sentence: str) -> MailroomError:
    """One reason for two things: the account has no Gmail, or something that passes. Only the sentence tells them."""
    if _NO_GMAIL in str(error.get("message")).lower():
        return MailboxGone(sentence)
    return ProviderUnavailable(sentence)


def _iter_reasons(error: Any) -> Iterator[str]:
    """From the most specific to the least. Any: an error body, which may be anything."""
    if not isinstance(error, dict):
        return
    for name in ("details", "errors"):
        items = error.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and (reason := sanitize_code(item.get("reason"))):
                yield reason
    if status := sanitize_code(error.get("status")):
        yield status


def _normalize_reason(reason: str) -> str:
    return reason.replace("_", "").lower()


def _parse_named_wait_s(error: Any) -> float | None:
    """Gmail has no Retry-After: some refusals name a time in their sentence."""
    found = _RETRY_AFTER.search(str(error.get("message"))) if isinstance(error, dict) else None
    if found is None:
        return None
    until = datetime.fromisoformat(found.group(1).removesuffix("Z")).replace(tzinfo=UTC)
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), MAX_WAIT_S)
