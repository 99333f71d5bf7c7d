import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from gateway_fakes import GatewayHarness

from webhook_gateway.api import webhooks
from webhook_gateway.api.http import find_client_address
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


@pytest.fixture
def short_body_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_BODY_TIMEOUT_S", 0.05)


async def test_a_body_that_never_ends_is_408(short_body_timeout: None, gateway: GatewayHarness) -> None:
    async def send_endlessly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(1)

    started = time.monotonic()
    response = await gateway.http.post("/webhooks/outlook", content=send_endlessly())

    assert response.status_code == 408
    assert time.monotonic() - started < 5


async def test_a_body_that_is_too_large_is_413(gateway: GatewayHarness) -> None:
    assert (await gateway.post_gmail({"x": "y" * 10_001})).status_code == 413


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
