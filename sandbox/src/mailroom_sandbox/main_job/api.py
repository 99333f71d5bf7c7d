"""Mailroom's API as its users see it, through the front."""

import ssl
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any

import httpx

from mailroom_common.errors import Rejected


class MailroomAPI:
    """Items are JSON objects as `docs/api` has them; nothing here depends on more of them than it shows."""

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

    async def get(self, path: str) -> dict[str, Any]:
        return _content(await self._http.get(path))

    async def post(self, path: str, content: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return _content(await self._http.post(path, json=content))

    async def items(self, path: str, **filters: str) -> list[dict[str, Any]]:
        """All items of a list, over its pages."""
        found: list[dict[str, Any]] = []
        parameters = {**filters, "limit": "200"}
        while True:
            page = _content(await self._http.get(path, params=parameters))
            found += page["items"]
            if not page.get("next_cursor"):
                return found
            parameters["cursor"] = page["next_cursor"]

    async def changes(self) -> AsyncIterator[None]:
        """One for each event of `/documents/events`; ends when the stream breaks, so that the caller looks anew."""
        try:
            async with self._http.stream("GET", "/documents/events") as stream:
                if stream.is_error:
                    await stream.aread()
                    _content(stream)
                yield
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        yield
        except httpx.TransportError:
            return


def _content(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_error:
        raise Rejected(f"{answer.request.method} {answer.url.path} answers {answer.status_code}: {answer.text[:500]}")
    content: dict[str, Any] = answer.json()
    return content
