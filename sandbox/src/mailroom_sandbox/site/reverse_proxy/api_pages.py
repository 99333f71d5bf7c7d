"""What the reverse proxy answers itself: `/` and `/docs`, the API's page, and `/openapi.json`, all services' merged."""

import asyncio
import json
from collections.abc import Mapping

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from mailroom_sandbox.api_docs.merge import Description, merge_descriptions
from mailroom_sandbox.api_docs.page import CONTENT_SECURITY_POLICY, render_page

_TIMEOUT_S = 5.0


class APIPages:
    """An ASGI application in front of `forward`. `services` maps the services with an API to their base URLs."""

    def __init__(self, services: Mapping[str, str], forward: ASGIApp) -> None:
        self._services = services
        self._forward = forward

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._forward(scope, receive, send)
        elif scope["path"] in ("/", "/docs"):
            page = render_page(await self._merge_descriptions(), url=_find_public_url(scope))
            await _send_text(send, "text/html; charset=utf-8", page)
        elif scope["path"] == "/openapi.json":
            await _send_text(send, "application/json", json.dumps(await self._merge_descriptions()))
        else:
            await self._forward(scope, receive, send)

    async def _merge_descriptions(self) -> Description:
        """Asked anew each time, and without a service that does not answer: it may just be started again."""
        async with httpx.AsyncClient(trust_env=False, timeout=_TIMEOUT_S) as client:
            found = await asyncio.gather(*(_read_description(client, url) for url in self._services.values()))
        described = zip(self._services, found, strict=True)
        return merge_descriptions(
            {name: description for name, description in described if description is not None}, title="Mailroom"
        )


async def _read_description(client: httpx.AsyncClient, url: str) -> Description | None:
    try:
        answer = await client.get(f"{url}/openapi.json")
        return answer.json() if answer.is_success else None
    except (httpx.TransportError, ValueError):
        return None


def _find_public_url(scope: Scope) -> str:
    """As the caller typed it: the page's examples can be copied as they are."""
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "127.0.0.1")
    return f"{scope['scheme']}://{host}"


async def _send_text(send: Send, content_type: str, text: str) -> None:
    headers = [
        (b"content-type", content_type.encode()),
        (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode(), "more_body": False})
