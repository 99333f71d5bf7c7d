from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from mailroom_common.errors import ProviderUnavailable, Rejected, Throttled, TokenRefused
from mailroom_common.providers.oauth import build_grant, map_code_refusal, map_refresh_refusal, request_token

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize("error", ["invalid_grant", "interaction_required", "consent_required", "login_required"])
def test_a_refresh_that_only_a_new_consent_helps_is_refused(error: str) -> None:
    assert isinstance(map_refresh_refusal({"error": error}, setting="X"), TokenRefused)


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client"])
def test_a_wrong_client_condemns_no_grant_and_names_the_setting(error: str) -> None:
    for refusal in (
        map_refresh_refusal({"error": error}, setting="MAILROOM_X"),
        map_code_refusal({"error": error}, setting="MAILROOM_X"),
    ):
        assert isinstance(refusal, ProviderUnavailable)
        assert "MAILROOM_X" in str(refusal)


@pytest.mark.parametrize("payload", [{}, {"error": "temporarily_unavailable"}, {"error": 5}])
def test_a_refusal_that_nobody_knows_condemns_no_grant(payload: dict[str, Any]) -> None:
    assert isinstance(map_refresh_refusal(payload, setting="X"), ProviderUnavailable)


def test_a_code_that_is_refused_is_for_the_page_and_trouble_is_for_later() -> None:
    assert isinstance(map_code_refusal({"error": "invalid_grant"}, setting="X"), Rejected)
    assert isinstance(map_code_refusal({"error": "server_error"}, setting="X"), ProviderUnavailable)


def test_the_description_which_names_users_is_in_no_error() -> None:
    payload = {"error": "invalid_grant", "error_description": "canary@x.example", "error_codes": [50173, "canary"]}
    text = str(map_refresh_refusal(payload, setting="X"))
    assert "AADSTS50173" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("expires_in", "lifetime"), [(3599, 3599), ("3599", 3599), (None, 0), ("soon", 0), (-5, 0), ([], 0)]
)
def test_a_lifetime_that_is_none_counts_as_over(expires_in: object, lifetime: int) -> None:
    grant = build_grant({"access_token": "at", "expires_in": expires_in}, asked_at=NOW)
    assert grant.expires_at == NOW + timedelta(seconds=lifetime)


@pytest.mark.parametrize("payload", [{}, {"access_token": ""}, {"access_token": 5}])
def test_a_success_without_an_access_token_is_the_providers_trouble(payload: dict[str, Any]) -> None:
    with pytest.raises(ProviderUnavailable):
        build_grant(payload, asked_at=NOW)


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, Throttled), (500, ProviderUnavailable), (503, ProviderUnavailable), (302, ProviderUnavailable)],
)
async def test_a_token_endpoint_in_trouble_names_its_wait(
    http: httpx.AsyncClient, wire: Any, status: int, error: type[Throttled | ProviderUnavailable]
) -> None:
    wire.plays(httpx.Response(status, headers={"Retry-After": "7"}))
    with pytest.raises(error) as caught:
        await request_token(http, "https://login.example/token", {"grant_type": "x"})
    assert caught.value.retry_after_s == 7
