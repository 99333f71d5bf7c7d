import httpx
import orjson
import pytest

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
from mailroom_common.providers.calls import ProviderCall, Refusal
from mailroom_common.providers.types import Mailbox
from mailroom_outlook.errors import build_delta_mapper, map_refusal, map_subscription_refusal, map_translation_refusal


def refusal(status: int, code: str = "", message: str = "", *, method: str = "GET", **more: object) -> Refusal:
    payload = {"error": {"code": code, "message": message, **more}}
    return Refusal(
        call=ProviderCall(name="message", path="/x", method=method),
        status=status,
        headers=httpx.Headers(),
        payload=payload,
        retry_after_s=2.5,
    )


@pytest.mark.parametrize(
    ("status", "code", "message", "error"),
    [
        (401, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.", AccessDenied),
        (401, "MailboxNotEnabledForRESTAPI", "", MailboxGone),
        (403, "MailboxNotEnabledForRESTAPI", "", MailboxGone),
        (404, "MailboxNotEnabledForRESTAPI", "", MailboxGone),
        (404, "mailboxnothostedinexchangeonline", "", MailboxGone),
        (404, "ErrorInvalidUser", "", MailboxGone),
        (404, "ErrorNonExistentMailbox", "", MailboxGone),
        (404, "Request_ResourceNotFound", "", MailboxGone),
        (404, "ResourceNotFound", "", MailboxGone),
        (403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.", AccessDenied),
        (403, "ErrorAccessDenied", "Access to OData is disabled: [RAOP] : Blocked by tenant", AccessDenied),
        (403, "Authorization_RequestDenied", "", AccessDenied),
        (403, "ExtensionError", "Operation: Create; Exception: [Status Code: Forbidden; Reason: x]", AccessDenied),
        (403, "ExtensionError", "Exception: [Status Code: ServiceUnavailable; Reason: x]", ProviderUnavailable),
        (403, "ExtensionError", "Exception: [Status Code: TooManyRequests; Reason: x]", Throttled),
        (400, "ExtensionError", "Exception: [Status Code: BadRequest; Reason: x]", Rejected),
        (404, "ErrorItemNotFound", "", ItemGone),
        (404, "", "", ItemGone),
        (400, "ErrorInvalidIdMalformed", "Id is malformed.", Rejected),
        (400, "InefficientFilter", "", Rejected),
        (405, "", "", Rejected),
        (429, "ApplicationThrottled", "Application is over its MailboxConcurrency limit.", Throttled),
        (429, "", "", Throttled),
        (503, "applicationthrottled", "", Throttled),
        (423, "ErrorMailboxMoveInProgress", "", ProviderUnavailable),
        (408, "", "", ProviderUnavailable),
        (500, "ErrorInternalServerError", "", ProviderUnavailable),
        (503, "serviceNotAvailable", "", ProviderUnavailable),
        (504, "UnknownError", "", ProviderUnavailable),
        (302, "", "", ProviderUnavailable),
    ],
)
def test_graphs_refusals_mean(
    outlook: Mailbox, status: int, code: str, message: str, error: type[MailroomError]
) -> None:
    assert type(map_refusal(outlook, refusal(status, code, message))) is error


def test_most_specific_code_decides(outlook: Mailbox) -> None:
    inner = {"code": "MailboxNotEnabledForRESTAPI", "innerError": {"date": "2026"}}
    assert isinstance(map_refusal(outlook, refusal(404, "ErrorAccessDenied", innerError=inner)), MailboxGone)


def test_wait_that_the_provider_asked_for_is_passed_on(outlook: Mailbox) -> None:
    for status in (429, 503):
        error = map_refusal(outlook, refusal(status))
        assert isinstance(error, Throttled | ProviderUnavailable)
        assert error.retry_after_s == 2.5


def test_claims_challenge_after_a_fresh_token_needs_the_user(outlook: Mailbox) -> None:
    challenged = Refusal(
        call=ProviderCall(name="message", path="/x"),
        status=401,
        headers=httpx.Headers({"WWW-Authenticate": 'Bearer error="insufficient_claims", claims="eyJhY2Nlc3"'}),
        payload={},
    )
    error = map_refusal(outlook, challenged)
    assert isinstance(error, TokenRefused)
    assert error.grant_generation == outlook.grant_generation


@pytest.mark.parametrize(
    ("status", "code"),
    [(410, ""), (410, "SyncStateNotFound"), (404, "syncStateNotFound"), (400, "RESYNCREQUIRED"), (400, "BadRequest")],
)
def test_refused_link_is_told_apart_by_what_it_was(outlook: Mailbox, status: int, code: str) -> None:
    assert type(build_delta_mapper("/link", is_page=False)(outlook, refusal(status, code))) is CursorRefused
    assert type(build_delta_mapper("/link", is_page=True)(outlook, refusal(status, code))) is PageTokenRefused


@pytest.mark.parametrize(("status", "code"), [(400, "BadRequest"), (410, "")])
def test_refusal_without_a_link_is_no_refused_cursor(outlook: Mailbox, status: int, code: str) -> None:
    assert not isinstance(build_delta_mapper("", is_page=False)(outlook, refusal(status, code)), CursorRefused)


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_trouble_with_the_mailbox_does_not_refuse_the_link(outlook: Mailbox, status: int) -> None:
    error = build_delta_mapper("/link", is_page=True)(outlook, refusal(status))
    assert not isinstance(error, CursorRefused | PageTokenRefused)


def test_folder_that_is_gone_is_an_item_that_is_gone(outlook: Mailbox) -> None:
    assert isinstance(build_delta_mapper("/link", is_page=False)(outlook, refusal(404, "ErrorItemNotFound")), ItemGone)


@pytest.mark.parametrize("code", ["ValidationError", "InvalidRequest"])
def test_handshake_that_failed_may_succeed_later(outlook: Mailbox, code: str) -> None:
    failed = refusal(400, code, "Subscription validation request timed out.", method="POST")
    assert isinstance(map_subscription_refusal(outlook, failed), ProviderUnavailable)


def test_subscription_that_is_gone_is_no_mailbox_that_is_gone(outlook: Mailbox) -> None:
    gone = map_subscription_refusal(outlook, refusal(404, "ResourceNotFound", method="PATCH"))
    assert isinstance(gone, ItemGone)


def test_a_translation_without_its_permission_names_the_permission_and_the_setting(outlook: Mailbox) -> None:
    denied = map_translation_refusal(outlook, refusal(403, "ErrorAccessDenied", method="POST"))
    assert isinstance(denied, PermissionMissing)
    assert "User.Read" in str(denied)
    assert "MAILROOM_STATE_ID_FORM" in str(denied)


@pytest.mark.parametrize(("status", "code"), [(400, "BadRequest"), (404, "ErrorItemNotFound")])
def test_a_refused_translation_is_no_fault_of_one_message(outlook: Mailbox, status: int, code: str) -> None:
    error = map_translation_refusal(outlook, refusal(status, code, method="POST"))
    assert isinstance(error, ProviderUnavailable)


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b"null", b"[]", b'{"error": "text"}', b'{"error": []}'])
def test_error_body_of_any_shape_is_judged_by_its_status(outlook: Mailbox, body: bytes) -> None:
    payload = orjson.loads(body) if body[:1] in b"{" and body else {}
    odd = Refusal(call=ProviderCall(name="delta", path="/x"), status=504, headers=httpx.Headers(), payload=payload)
    assert isinstance(map_refusal(outlook, odd), ProviderUnavailable)


def test_sentence_repeats_no_text_of_the_provider(outlook: Mailbox) -> None:
    error = map_refusal(outlook, refusal(404, "ErrorItemNotFound", "The user 'canary@contoso.example' said canary"))
    assert "canary" not in str(error)
    assert "ErrorItemNotFound" in str(error)
