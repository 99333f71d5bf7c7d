"""What the token endpoints of both providers have in common."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from mailroom_common.errors import MailroomError, ProviderUnavailable, Rejected, Throttled, TokenRefused
from mailroom_common.providers.http import Answer, code_word, exchange, retry_after_s
from mailroom_common.providers.types import Grant

TOKEN_TIMEOUT_S = 15.0
_TOKEN_LIMIT_BYTES = 1024 * 1024

# Only a person can mend these; every other error is ours to mend or passes.
_CONSENT_AGAIN = {"invalid_grant", "interaction_required", "consent_required", "login_required"}


async def ask_token_endpoint(http: httpx.AsyncClient, url: str, form: Mapping[str, str]) -> Answer:
    """Raises ProviderUnavailable and Throttled; any other refusal is for the caller to judge by its `error`."""
    request = http.build_request(
        "POST", url, data=form, headers={"Accept": "application/json"}, timeout=TOKEN_TIMEOUT_S
    )
    answer = await exchange(http, request, limit_bytes=_TOKEN_LIMIT_BYTES)
    wait_s = retry_after_s(answer.headers, now=datetime.now(UTC))
    if answer.status == httpx.codes.TOO_MANY_REQUESTS:
        raise Throttled("the token endpoint asked for patience", retry_after_s=wait_s)
    if answer.status >= 500 or 300 <= answer.status < 400:
        raise ProviderUnavailable(f"the token endpoint answered {answer.status}", retry_after_s=wait_s)
    return answer


def grant_of(payload: Mapping[str, Any], *, asked_at: datetime, id_claims: dict[str, object] | None = None) -> Grant:
    """Any: the token endpoint's JSON. Raises ProviderUnavailable when no access token is in a success."""
    access_token = payload.get("access_token")
    if not isinstance(access_token, str) or not access_token:
        raise ProviderUnavailable("the token endpoint answered without an access token")
    return Grant(
        access_token=access_token,
        refresh_token=payload.get("refresh_token"),
        expires_at=asked_at + timedelta(seconds=_lifetime_s(payload.get("expires_in"))),
        scopes=frozenset(str(payload.get("scope") or "").split()),
        id_claims=id_claims or {},
    )


def refusal_of_refresh(payload: Mapping[str, Any], *, setting: str) -> MailroomError:
    """Why a refresh was refused. Trouble with our client id hits every mailbox at once and condemns none of them."""
    error = _error_word(payload)
    if error in _CONSENT_AGAIN:
        return TokenRefused(f"the token endpoint answered {_detailed(payload)}", grant_generation=0)
    if error in ("invalid_client", "unauthorized_client"):
        return ProviderUnavailable(f"the token endpoint answered {_detailed(payload)}: check {setting}")
    return ProviderUnavailable(f"the token endpoint answered {_detailed(payload)}")


def refusal_of_code(payload: Mapping[str, Any], *, setting: str) -> MailroomError:
    """Why a code was refused: for the readable page that ends a consent."""
    error = _error_word(payload)
    if error in ("invalid_client", "unauthorized_client"):
        return ProviderUnavailable(f"the token endpoint answered {_detailed(payload)}: check {setting}")
    if error in ("temporarily_unavailable", "server_error"):
        return ProviderUnavailable(f"the token endpoint answered {_detailed(payload)}")
    return Rejected(f"the provider did not accept the sign-in: {_detailed(payload)}")


def _error_word(payload: Mapping[str, Any]) -> str:
    return code_word(payload.get("error"))


def _detailed(payload: Mapping[str, Any]) -> str:
    """The error's word and, where there are, its numbers or subtype; never its description, which names users."""
    codes = payload.get("error_codes")
    numbers = [f"AADSTS{code}" for code in codes if isinstance(code, int)] if isinstance(codes, list) else []
    words = [_error_word(payload) or "an error", *numbers]
    words += [word for name in ("suberror", "error_subtype") if (word := code_word(payload.get(name)))]
    return " ".join(words)


def _lifetime_s(value: object) -> float:
    try:
        return max(float(value), 0.0) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0
