from datetime import UTC, datetime

import httpx
import pytest

from mailroom_common.errors import ProviderUnavailable, Rejected
from mailroom_common.providers.http import (
    BaseURL,
    ProviderAnswer,
    open_client,
    open_response,
    parse_retry_after_s,
    sanitize_code,
    send_request,
)
from mailroom_common.settings import TLSSettings

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("2.128", 2.128),
        ("Sat, 28 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 28 Nov 2026 11:00:00 GMT", 0.0),
        ("-5", 0.0),
        ("999999999", 3600.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_integer_decimal_or_date(header: str, seconds: float | None) -> None:
    assert parse_retry_after_s(httpx.Headers({"Retry-After": header}), now=NOW) == seconds


def test_absent_retry_after_says_nothing() -> None:
    assert parse_retry_after_s(httpx.Headers(), now=NOW) is None


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/v1.0/users/1/messages",
        "http://graph.example/v1.0/users/1/messages",
        "https://graph.example:8443/v1.0/users/1/messages",
        "https://graph.example@evil.example/v1.0/users/1",
        "https://user:pass@graph.example/v1.0/users/1",
        "https://graph.example.evil.example/v1.0/users/1",
        "https://graph.example/beta/users/1",
        "https://graph.example/v1.0evil/users/1",
        "//evil.example/v1.0/users/1",
        "/v1.0/users/1",
        "",
        "https://[",
    ],
)
def test_link_that_leads_elsewhere_is_not_followed(link: str) -> None:
    with pytest.raises(ProviderUnavailable):
        BaseURL("https://graph.example/v1.0").relativize_link(link)


@pytest.mark.parametrize(
    "link",
    [
        "https://graph.example/v1.0/users('a%40b')/messages/delta?$skiptoken=a%2Fb%3D&x=1",
        "https://GRAPH.example:443/v1.0/users('a%40b')/messages/delta?$skiptoken=a%2Fb%3D&x=1",
    ],
)
def test_link_is_kept_relative_and_byte_for_byte(link: str) -> None:
    relative = BaseURL("https://graph.example/v1.0/").relativize_link(link)
    assert relative == "/users('a%40b')/messages/delta?$skiptoken=a%2Fb%3D&x=1"
    assert (
        BaseURL("https://other.example:8443/v1.0").build_url(relative) == f"https://other.example:8443/v1.0{relative}"
    )


@pytest.mark.parametrize("stored", ["@evil.example/", ".evil.example/", "https://evil.example/", ""])
def test_stored_link_that_is_not_relative_is_refused(stored: str) -> None:
    with pytest.raises(ProviderUnavailable):
        BaseURL("https://graph.example").build_url(stored)


async def test_success_larger_than_its_limit_is_rejected() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=b"x" * 101))
    async with httpx.AsyncClient(transport=transport) as client:
        request = client.build_request("GET", "https://graph.example/")
        with pytest.raises(Rejected, match="more than 100 bytes"):
            await send_request(client, request, limit_bytes=100)


async def test_endless_error_body_is_cut() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(502, content=b"<html>" + b"x" * 1_000_000))
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await send_request(client, client.build_request("GET", "https://graph.example/"))
    assert (answer.status, answer.parse_object_or_empty()) == (502, {})
    assert len(answer.body) == 64 * 1024


async def test_broken_connection_is_the_providers_trouble() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[SSL] something about the wire", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(broken)) as client:
        with pytest.raises(ProviderUnavailable, match=r"graph\.example could not be reached: ConnectError"):
            await send_request(client, client.build_request("GET", "https://graph.example/"))


async def test_stream_that_breaks_while_it_is_read_is_the_providers_trouble() -> None:
    class Breaking(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]  # the base class has it so
            yield b"half"
            raise httpx.ReadError("reset")

    transport = httpx.MockTransport(lambda _request: httpx.Response(200, stream=Breaking()))
    async with httpx.AsyncClient(transport=transport) as client:
        got = []
        with pytest.raises(ProviderUnavailable):
            async with open_response(client, client.build_request("GET", "https://graph.example/")) as response:
                got.extend([chunk async for chunk in response.aiter_bytes()])
    assert got == []


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b"[1]", b'{"access_token": "secret-canary"'])
def test_success_that_is_no_json_object_is_the_providers_trouble_and_is_not_repeated(body: bytes) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        ProviderAnswer(200, httpx.Headers(), body).parse_object()
    assert "canary" not in repr(caught.value)
    assert caught.value.__cause__ is None


async def test_client_trusts_no_environment_follows_no_redirect_and_keeps_no_cookie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    async with open_client(TLSSettings(), timeout_s=5) as client:
        assert not client.trust_env
        assert not client.follow_redirects
        response = httpx.Response(
            200, headers={"Set-Cookie": "a=b; Path=/"}, request=client.build_request("GET", "https://graph.example/")
        )
        client.cookies.extract_cookies(response)
        assert not list(client.cookies.jar)


@pytest.mark.parametrize(("value", "word"), [("ErrorItemNotFound", "ErrorItemNotFound"), ("a b\nc", ""), (429, "")])
def test_error_code_reaches_a_log_only_as_a_plain_word(value: object, word: str) -> None:
    assert sanitize_code(value) == word
