from collections.abc import AsyncIterator

import httpx2
import pytest

from ingestion.adapters.bounded_answers import BoundedTransport


async def _send(chunks: int) -> AsyncIterator[bytes]:
    for _ in range(chunks):
        yield b"x" * 100


class Endpoint(httpx2.AsyncBaseTransport):
    def __init__(self, chunks: int, **headers: str) -> None:
        self.asked_for = ""
        self._answer = httpx2.Response(200, headers=headers, content=_send(chunks))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked_for = request.headers["Accept-Encoding"]
        return self._answer


async def test_an_answer_within_the_limit_is_whole() -> None:
    endpoint = Endpoint(10)
    async with httpx2.AsyncClient(transport=BoundedTransport(endpoint, 1000)) as client:
        assert len((await client.get("http://model.example")).content) == 1000
    assert endpoint.asked_for == "identity"


@pytest.mark.parametrize("endpoint", [Endpoint(11), Endpoint(1, **{"Content-Encoding": "gzip"})])
async def test_an_answer_beyond_it_or_a_packed_one_is_a_broken_connection(endpoint: Endpoint) -> None:
    async with httpx2.AsyncClient(transport=BoundedTransport(endpoint, 1000)) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("http://model.example")
