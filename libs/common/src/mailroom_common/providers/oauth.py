"""OAuth token endpoints: the request, and what a grant or a refusal in the answer means."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from mailroom_common.errors import CallDeferred, MailroomError, ProviderUnavailable, Rejected, TokenRefused
from mailroom_common.providers.http import ProviderAnswer, parse_retry_after_s, sanitize_code, send_request
from mailroom_common.providers.types import Grant

TOKEN_TIMEOUT_S = 15.0
_TOKEN_LIMIT_BYTES = 1024 * 1024

# The user has to consent again; every other error is the operator's, or temporary.
_NEEDS_CONSENT = {"invalid_grant", "interaction_required", "consent_required", "login_required"}


async def request_token(http: httpx.AsyncClient, url: str, form: Mapping[str, str]) -> ProviderAnswer:
    """Raises ProviderUnavailable and Throttled; the caller maps any other refusal by its `error`."""
    request = http.build_request(
        "POST", url, data=form, headers={"Accept": "application/json"}, timeout=TOKEN_TIMEOUT_S
    )
    answer = await send_request(http, request, limit_bytes=_TOKEN_LIMIT_BYTES)
    wait_s = parse_retry_after_s(answer.headers, now=datetime.now(UTC))
    if answer.status == httpx.codes.TOO_MANY_REQUESTS:
        raise CallDeferred("the token endpoint throttled us", retry_after_s=wait_s)
    if answer.status >= 500 or 300 <= answer.status < 400:
        raise ProviderUnavailable(f"the token endpoint answered {answer.status}", retry_after_s=wait_s)
    return answer


def build_grant(payload: Mapping[str, Any], *, asked_at: datetime, id_claims: dict[str, object] | None = None) -> Grant:
    """Any: the token endpoint's JSON. Raises ProviderUnavailable when no access token is in a success."""
    access_token = payload.get("access_token")
    if not isinstance(access_token, str) or not access_token:
        raise ProviderUnavailable("the token endpoint answered without an access token")
    return Grant(
        access_token=access_token,
        refresh_token=payload.get("refresh_token"),
        expires_at=asked_at + timedelta(seconds=_parse_lifetime_s(payload.get("expires_in"))),
        scopes=frozenset(str(payload.get("scope") or "").split()),
        id_claims=id_claims or {},
    )


def map_refresh_refusal(payload: Mapping[str, Any], *, setting: str) -> MailroomError:
    """Why a refresh was refused. A wrong client id or secret hits every mailbox at once and must end no grant."""
    error = _read_error_code(payload)
    if error in _NEEDS_CONSENT:
        return TokenRefused(f"the token endpoint answered {_describe_refusal(payload)}", grant_generation=0)
    if error in ("invalid_client", "unauthorized_client"):
        return ProviderUnavailable(f"the token endpoint answered {_describe_refusal(payload)}: check {setting}")
    return ProviderUnavailable(f"the token endpoint answered {_describe_refusal(payload)}")


def map_code_refusal(payload: Mapping[str, Any], *, setting: str) -> MailroomError:
    """Why a code was refused: for the readable page that ends a consent."""
    error = _read_error_code(payload)
    if error in ("invalid_client", "unauthorized_client"):
        return ProviderUnavailable(f"the token endpoint answered {_describe_refusal(payload)}: check {setting}")
    if error in ("temporarily_unavailable", "server_error"):
        return ProviderUnavailable(f"the token endpoint answered {_describe_refusal(payload)}")
    return Rejected(f"the provider did not accept the sign-in: {_describe_refusal(payload)}")


def _read_error_code(payload: Mapping[str, Any]) -> str:
    return sanitize_code(payload.get("error"))


def _describe_refusal(payload: Mapping[str, Any]) -> str:
    """The error's word and, where there are, its numbers or subtype; never its description, which names users."""
    codes = payload.get("error_codes")
    numbers = [f"AADSTS{code}" for code in codes if isinstance(code, int)] if isinstance(codes, list) else []
    words = [_read_error_code(payload) or "an error", *numbers]
    words += [word for name in ("suberror", "error_subtype") if (word := sanitize_code(payload.get(name)))]
    return " ".join(words)


def _parse_lifetime_s(value: object) -> float:
    try:
        return max(float(value), 0.0) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0
