"""Maps Graph's refusals to our errors. Codes are compared without case; the most specific known one decides.

Source: providers/graph.md 4.3, 9.2, 12, 13. The message texts are never branched on, with one exception: the status
that a workload's `ExtensionError` wraps stands only in its message.
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
    PermissionMissing,
    ProviderUnavailable,
    Rejected,
    Throttled,
    TokenRefused,
)
from mailroom_common.providers.calls import Refusal, RefusalMapper
from mailroom_common.providers.http import sanitize_code
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
_TEMPORARY = {"mailboxstoreunavailable", "errormailboxmoveinprogress", "serviceunavailable", "servicenotavailable"}
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


def map_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """The general table; a 404 that no code explains means the item."""
    codes = tuple(_iter_codes(refusal.payload.get("error")))
    sentence = refusal.build_sentence("Graph", codes[-1] if codes else "")
    known = {code.lower() for code in codes}
    status = _find_wrapped_status(refusal) or refusal.status
    if status == httpx.codes.TOO_MANY_REQUESTS or known & _THROTTLED:
        return Throttled(sentence, retry_after_s=refusal.retry_after_s)
    if status >= 500 or status in (408, 423) or known & _TEMPORARY:
        return ProviderUnavailable(sentence, retry_after_s=refusal.retry_after_s)
    if known & _MAILBOX_GONE:
        return MailboxGone(sentence)
    if status == httpx.codes.UNAUTHORIZED:
        return _map_unauthorized(mailbox, refusal, sentence)
    if status == httpx.codes.FORBIDDEN:
        return AccessDenied(sentence)
    if status in (404, 410):
        return ItemGone(sentence)
    if 300 <= status < 400:
        return ProviderUnavailable(f"{sentence}: redirects are not followed")
    return Rejected(sentence)


def build_delta_mapper(link: str, *, is_page: bool) -> RefusalMapper:
    """For a call that goes on from a stored link: what refuses the link is no failure of the mailbox.

    Expected is 410; the documents also allow any 40x with a code of the sync state, and a link that is answered with
    400 was valid when it was given. A folder that is gone is an ItemGone, as everywhere.
    """

    def map_list_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
        codes = tuple(_iter_codes(refusal.payload.get("error")))
        refused = refusal.status in (400, 410) or (
            400 <= refusal.status < 500 and bool({code.lower() for code in codes} & _SYNC_STATE)
        )
        if link and refused:
            sentence = refusal.build_sentence("Graph", codes[-1] if codes else "")
            return PageTokenRefused(sentence) if is_page else CursorRefused(sentence)
        return map_refusal(mailbox, refusal)

    return map_list_refusal


def map_translation_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """What is refused here concerns all messages at once, and none of them."""
    error = map_refusal(mailbox, refusal)
    if isinstance(error, AccessDenied):
        return PermissionMissing(
            f"{error}: translating message ids needs the permission User.Read (application access: User.Read.All); "
            "grant it, or set MAILROOM_STATE_ID_FORM=immutable if the outside job asks Graph for immutable ids too"
        )
    return ProviderUnavailable(str(error)) if isinstance(error, Rejected) else error


def map_subscription_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    """For calls of `/subscriptions`, where a 400 can mean that Graph did not reach our endpoint: it may next time."""
    codes = {code.lower() for code in _iter_codes(refusal.payload.get("error"))}
    handshake_failed = refusal.status == 400 and codes & {"validationerror", "invalidrequest"}
    if handshake_failed and refusal.call.method == "POST":
        return ProviderUnavailable(
            "Graph could not validate the webhook at MAILROOM_PUBLIC_URL: it is not reachable from Graph, or answers"
            " wrongly or too slowly"
        )
    if refusal.status == 404 and "resourcenotfound" in codes and refusal.call.method != "POST":
        return ItemGone(refusal.build_sentence("Graph", "ResourceNotFound"))
    return map_refusal(mailbox, refusal)


def _map_unauthorized(mailbox: Mailbox, refusal: Refusal, sentence: str) -> MailroomError:
    """A token that was just refreshed is refused: a claims challenge wants the user, the rest an administrator."""
    if "claims=" in refusal.headers.get("WWW-Authenticate", ""):
        return TokenRefused(sentence, grant_generation=mailbox.grant_generation)
    return AccessDenied(sentence)


def _find_wrapped_status(refusal: Refusal) -> int | None:
    """`ExtensionError` wraps what Exchange said: a 403 may hold a ServiceUnavailable, which is no lost access."""
    error = refusal.payload.get("error")
    if not isinstance(error, dict) or str(error.get("code")).lower() != "extensionerror":
        return None
    found = _INNER_STATUS.search(str(error.get("message")))
    return _INNER.get(found.group(1).lower()) if found else None


def _iter_codes(error: Any) -> Iterator[str]:
    """From the outermost code to the most specific one. Any: an error body, which may be anything."""
    while isinstance(error, dict):
        if code := sanitize_code(error.get("code")):
            yield code
        error = error.get("innerError") or error.get("innererror")
