from datetime import UTC, datetime, timedelta

import httpx
import pytest

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
from mailroom_common.providers.calls import ProviderCall, Refusal
from mailroom_common.providers.types import Mailbox
from mailroom_gmail.errors import build_list_mapper, map_refusal


def refusal(status: int, error: object, retry_after_s: float | None = None) -> Refusal:
    return Refusal(
        call=ProviderCall(name="message", path="/x"),
        status=status,
        headers=httpx.Headers(),
        payload={"error": error},
        retry_after_s=retry_after_s,
    )


def classic(status: int, reason: str, message: str = "") -> Refusal:
    errors = [{"domain": "global", "reason": reason, "message": message}]
    return refusal(status, {"code": status, "message": message, "errors": errors})


def newer(status: int, word: str, reason: str | None = None, message: str = "") -> Refusal:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return refusal(status, {"code": status, "message": message, "status": word, "details": details})


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (classic(403, "rateLimitExceeded"), Throttled),
        (classic(403, "userRateLimitExceeded"), Throttled),
        (classic(403, "dailyLimitExceeded"), Throttled),
        (classic(403, "quotaExceeded"), Throttled),
        (newer(403, "RESOURCE_EXHAUSTED"), Throttled),
        (newer(403, "PERMISSION_DENIED", "RATE_LIMIT_EXCEEDED"), Throttled),
        (classic(429, "rateLimitExceeded"), Throttled),
        (newer(429, "RESOURCE_EXHAUSTED"), Throttled),
        (refusal(429, None), Throttled),
        (classic(403, "insufficientPermissions"), AccessDenied),
        (newer(403, "PERMISSION_DENIED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), AccessDenied),
        (classic(403, "domainPolicy"), AccessDenied),
        (classic(403, "forbidden", "Delegation denied for somebody"), AccessDenied),
        (refusal(403, None), AccessDenied),
        (classic(403, "accessNotConfigured"), ProviderUnavailable),
        (newer(403, "PERMISSION_DENIED", "SERVICE_DISABLED"), ProviderUnavailable),
        (classic(401, "authError", "Invalid Credentials"), AccessDenied),
        (classic(404, "notFound"), ItemGone),
        (newer(404, "NOT_FOUND"), ItemGone),
        (classic(400, "failedPrecondition", "Mail service not enabled"), MailboxGone),
        (newer(400, "FAILED_PRECONDITION", None, "Mail service not enabled"), MailboxGone),
        (classic(400, "failedPrecondition", "Precondition check failed."), ProviderUnavailable),
        (classic(400, "invalidArgument"), Rejected),
        (classic(500, "backendError"), ProviderUnavailable),
        (refusal(503, None), ProviderUnavailable),
        (refusal(302, None), ProviderUnavailable),
        (refusal(400, "text"), Rejected),
    ],
)
def test_gmails_refusals_mean(gmail: Mailbox, given: Refusal, error: type[MailroomError]) -> None:
    assert type(map_refusal(gmail, given)) is error


def test_time_in_the_sentence_is_the_wait_where_no_header_names_one(gmail: Mailbox) -> None:
    until = (datetime.now(UTC) + timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    named = map_refusal(gmail, classic(429, "rateLimitExceeded", f"User-rate limit exceeded.  Retry after {until}"))
    assert isinstance(named, Throttled)
    assert named.retry_after_s is not None
    assert 80 < named.retry_after_s <= 90


def test_quota_of_the_day_is_a_long_wait(gmail: Mailbox) -> None:
    spent = map_refusal(gmail, classic(403, "dailyLimitExceeded"))
    assert isinstance(spent, Throttled)
    assert spent.retry_after_s == 3600


@pytest.mark.parametrize("given", [classic(404, "notFound"), classic(400, "invalidArgument")])
def test_history_that_does_not_reach_back_is_a_refused_cursor(gmail: Mailbox, given: Refusal) -> None:
    assert type(build_list_mapper(is_page=False, is_history=True)(gmail, given)) is CursorRefused


@pytest.mark.parametrize("is_history", [True, False])
def test_page_token_that_is_not_taken_is_refused(gmail: Mailbox, is_history: bool) -> None:
    error = build_list_mapper(is_page=True, is_history=is_history)(gmail, classic(400, "invalidArgument"))
    assert type(error) is PageTokenRefused


def test_trouble_with_the_mailbox_does_not_refuse_the_cursor(gmail: Mailbox) -> None:
    judged = build_list_mapper(is_page=True, is_history=True)
    assert isinstance(judged(gmail, classic(403, "rateLimitExceeded")), Throttled)
    assert isinstance(judged(gmail, classic(400, "failedPrecondition", "Mail service not enabled")), MailboxGone)


def test_first_page_of_a_list_that_is_refused_is_our_mistake(gmail: Mailbox) -> None:
    assert type(build_list_mapper(is_page=False, is_history=False)(gmail, classic(400, "badRequest"))) is Rejected
