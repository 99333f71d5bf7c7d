"""What Graph's refusals mean. Codes are compared without case, and the most specific one known decides.

Source: providers/graph.md 4.3, 9.2, 12, 13. The wire's sentences are never branched on, with one exception: the status
that a workload's `ExtensionError` wraps stands only in its sentence.
"""

import re
from collections.abc import Iterator
from typing import Any

import httpx

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
    TokenRefused,
)
from mailroom_common.providers.calls import Judge, Refusal
from mailroom_common.providers.http import code_word
from mailroom_common.providers.types import Mailbox

_MAILBOX_GONE = {
    "mailboxnotenabledforrestapi",  # seen with 404, 403 and 401
    "mailboxnothostedinexchangeonline",
    "errorinvaliduser",
    "errornonexistentmailbox",
    "request_resourcenotfound",  # the directory has no such user any more
    "resourcenotfound",
}
_THROTTLED = {"applicationthrottled", "toomanyrequests", "activitylimitreached", "mailboxconcurrency"}
_PASSING = {"mailboxstoreunavailable", "errormailboxmoveinprogress", "serviceunavailable", "servicenotavailable"}
_SYNC_STATE = {"syncstatenotfound", "syncstateinvalid", "resyncrequired"}
_INNER_STATUS = re.compile(r"\[Status Code: ([A-Za-z]+)")
_INNER = {
    "unauthorized": 401,
    "forbidden": 403,
    "notfound": 404,
    "toomanyrequests": 429,
    "internalservererror": 500,
    "badgateway": 502,
    "serviceunavailable": 503,
    "gatewaytimeout": 504,
}


def judge(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """The general table; a 404 that no code explains means the item."""
    codes = tuple(_codes(refusal.payload.get("error")))
    sentence = refusal.sentence("Graph", codes[-1] if codes else "")
    known = {code.lower() for code in codes}
    status = _wrapped_status(refusal) or refusal.status
    if status == httpx.codes.TOO_MANY_REQUESTS or known & _THROTTLED:
        return Throttled(sentence, retry_after_s=refusal.retry_after_s)
    if status >= 500 or status in (408, 423) or known & _PASSING:
        return ProviderUnavailable(sentence, retry_after_s=refusal.retry_after_s)
    if known & _MAILBOX_GONE:
        return MailboxGone(sentence)
    if status == httpx.codes.UNAUTHORIZED:
        return _unauthorized(mailbox, refusal, sentence)
    if status == httpx.codes.FORBIDDEN:
        return AccessDenied(sentence)
    if status in (404, 410):
        return ItemGone(sentence)
    if 300 <= status < 400:
        return ProviderUnavailable(f"{sentence}: redirects are not followed")
    return Rejected(sentence)


def judge_delta(link: str, *, is_page: bool) -> Judge:
    """For a call that goes on from a stored link: what refuses the link is no failure of the mailbox.

    Expected is 410; the documents also allow any 40x with a code of the sync state, and a link that is answered with
    400 was valid when it was given. A folder that is gone is an ItemGone, as everywhere.
    """

    def judged(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
        codes = tuple(_codes(refusal.payload.get("error")))
        refused = refusal.status in (400, 410) or (
            400 <= refusal.status < 500 and bool({code.lower() for code in codes} & _SYNC_STATE)
        )
        if link and refused:
            sentence = refusal.sentence("Graph", codes[-1] if codes else "")
            return PageTokenRefused(sentence) if is_page else CursorRefused(sentence)
        return judge(mailbox, refusal)

    return judged


def judge_subscription(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """For calls of `/subscriptions`, where a 400 can mean that Graph did not reach our endpoint: it may next time."""
    codes = {code.lower() for code in _codes(refusal.payload.get("error"))}
    handshake_failed = refusal.status == 400 and codes & {"validationerror", "invalidrequest"}
    if handshake_failed and refusal.call.method == "POST":
        return ProviderUnavailable(
            "Graph could not validate the webhook at MAILROOM_PUBLIC_URL: it is not reachable from Graph, or answers"
            " wrongly or too slowly"
        )
    if refusal.status == 404 and "resourcenotfound" in codes and refusal.call.method != "POST":
        return ItemGone(refusal.sentence("Graph", "ResourceNotFound"))
    return judge(mailbox, refusal)


def _unauthorized(mailbox: Mailbox, refusal: Refusal, sentence: str) -> MailroomError:
    """A token that was just refreshed is refused: a claims challenge wants the user, the rest an administrator."""
    if "claims=" in refusal.headers.get("WWW-Authenticate", ""):
        return TokenRefused(sentence, grant_generation=mailbox.grant_generation)
    return AccessDenied(sentence)


def _wrapped_status(refusal: Refusal) -> int | None:
    """`ExtensionError` wraps what Exchange said: a 403 may hold a ServiceUnavailable, which is no lost access."""
    error = refusal.payload.get("error")
    if not isinstance(error, dict) or str(error.get("code")).lower() != "extensionerror":
        return None
    found = _INNER_STATUS.search(str(error.get("message")))
    return _INNER.get(found.group(1).lower()) if found else None


def _codes(error: Any) -> Iterator[str]:
    """From the outermost code to the most specific one. Any: an error body, which may be anything."""
    while isinstance(error, dict):
        if code := code_word(error.get("code")):
            yield code
        error = error.get("innerError") or error.get("innererror")
