import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from gateway_fakes import GatewayHarness
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from webhook_gateway.api import http, webhooks
from webhook_gateway.api.http import BodyTooLarge, find_client_address, read_body
from webhook_gateway.settings import parse_networks


async def test_a_body_that_is_too_large_is_413_once_it_is_sent(gateway: GatewayHarness) -> None:
    """Whoever is still sending, as a proxy is, does not look for a response."""
    sent = 0

    async def send_chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(20):
            sent += 1
            yield b"x" * 1_000

    announced = await gateway.http.post("/webhooks/outlook", content=b"x" * 10_001)
    chunked = await gateway.http.post("/webhooks/outlook", content=send_chunks())

    assert (announced.status_code, chunked.status_code) == (413, 413)
    assert sent == 20


async def test_a_body_that_never_ends_is_408(gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_BODY_TIMEOUT_S", 0.05)

    async def send_endlessly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    response = await asyncio.wait_for(gateway.http.post("/webhooks/outlook", content=send_endlessly()), 5)

    assert response.status_code == 408
    assert response.headers["connection"] == "close"


async def test_a_body_that_is_too_large_and_never_ends_is_413(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_DISCARD_TIMEOUT_S", 0.05)

    async def send_endlessly() -> AsyncIterator[bytes]:
        yield b"x" * 10_001
        await asyncio.Event().wait()

    response = await asyncio.wait_for(gateway.http.post("/webhooks/outlook", content=send_endlessly()), 5)

    assert response.status_code == 413
    assert response.headers["connection"] == "close"


async def test_a_body_that_is_too_large_is_413_for_gmail_too(gateway: GatewayHarness) -> None:
    assert (await gateway.post_gmail({"x": "y" * 10_001})).status_code == 413


def make_request(*messages: Message, headers: Sequence[tuple[bytes, bytes]] = ()) -> Request:
    remaining = list(messages)

    async def receive() -> Message:
        return remaining.pop(0)

    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)


async def test_a_body_of_several_messages_is_joined() -> None:
    request = make_request(
        {"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.request", "body": b"c"}
    )

    assert await read_body(request, 3) == b"abc"


async def test_a_body_that_is_announced_as_too_large_is_not_kept() -> None:
    request = make_request({"type": "http.request", "body": b"abc"}, headers=[(b"content-length", b"11")])

    with pytest.raises(BodyTooLarge):
        await read_body(request, 10)


async def test_a_client_that_leaves_before_the_end_of_its_body_is_no_empty_body() -> None:
    request = make_request({"type": "http.request", "body": b"{}", "more_body": True}, {"type": "http.disconnect"})

    with pytest.raises(ClientDisconnect):
        await read_body(request, 10)


async def test_other_paths_are_those_of_the_app_behind_the_dispatcher(gateway: GatewayHarness) -> None:
    assert (await gateway.http.post("/webhooks/other")).status_code == 404


TRUSTED_PROXIES = parse_networks("10.0.0.0/8, fd00::/8")


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "expected"),
    [
        ("198.51.100.1", [], "198.51.100.1"),
        ("198.51.100.1", ["1.2.3.4"], "198.51.100.1"),  # written by the client itself
        ("10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["9.9.9.9, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
        ("10.0.0.1", ["9.9.9.9, 1.2.3.4", "10.0.0.2"], "1.2.3.4"),  # the header twice
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),  # only trusted proxies
        ("10.0.0.1", ["1.2.3.4, nonsense"], "10.0.0.1"),
        ("fd00::1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", [], "10.0.0.1"),
        (None, ["1.2.3.4"], None),
    ],
)
def test_the_client_address_is_the_nearest_one_that_is_no_trusted_proxy(
    peer: str | None, forwarded_for: list[str], expected: str | None
) -> None:
    assert find_client_address(peer, forwarded_for, TRUSTED_PROXIES) == expected
