"""Mailroom's API as its users see it, through the reverse proxy."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from mailroom_common.errors import Rejected, Unavailable

T = TypeVar("T")

_PATIENCE_S = 90.0
_PAUSE_S = 0.3
# What the reverse proxy answers for a service that is just being started again.
_AWAY = {502, 503, 504}


class MailroomAPI:
    """Items are JSON objects as design 7.2 has them. Calls raise Unavailable while a service is away."""

    def __init__(self, url: str, key: str, trusted: ssl.SSLContext) -> None:
        self._http = httpx.AsyncClient(
            base_url=url,
            verify=trusted,
            trust_env=False,
            timeout=httpx.Timeout(30, read=None),
            headers={"Authorization": f"Bearer {key}"},
        )

    async def __aenter__(self) -> "MailroomAPI":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def get_json(self, path: str, **parameters: str) -> dict[str, Any]:
        return await self._send_request("GET", path, params=parameters)

    async def post_json(self, path: str, content: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self._send_request("POST", path, json=content)

    async def list_items(self, path: str, **filters: str) -> list[dict[str, Any]]:
        """All items of a list, over its pages."""
        found: list[dict[str, Any]] = []
        parameters = {**filters, "limit": "200"}
        while True:
            page = await self.get_json(path, **parameters)
            found += page["items"]
            if not page.get("next_cursor"):
                return found
            parameters["cursor"] = page["next_cursor"]

    async def follow_document_events(self) -> AsyncIterator[None]:
        """One for each event of `/documents/events`; ends when the stream breaks, so that the caller looks anew."""
        try:
            async with self._http.stream("GET", "/documents/events") as stream:
                if stream.is_error:
                    return
                yield
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        yield
        except httpx.TransportError:
            return

    async def _send_request(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # Any: httpx's own options
        try:
            answer = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise Unavailable(f"{method} {path}: {type(error).__name__}") from error
        refuse_errors(answer)
        content: dict[str, Any] = answer.json()
        return content


def refuse_errors(answer: httpx.Response, said: str | None = None) -> None:
    if answer.is_error:
        text = f"{answer.request.method} {answer.url.path} answers {answer.status_code}: {(said or answer.text)[:500]}"
        raise Unavailable(text) if answer.status_code in _AWAY else Rejected(text)


async def retry_while_unavailable(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeats what a service's restart cut off; only for what may be done twice."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while True:
        try:
            return await attempt()
        except Unavailable:
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)
