"""The one module that makes HTTP clients for the providers, and that decides where a token may go.

Every client has an explicit SSL context of `MAILROOM_CA_BUNDLE` (or certifi's), ignores the environment's own proxy
and bundle variables, follows no redirect (a token would travel along) and keeps no cookies (one client speaks for many
mailboxes).
"""

import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import isfinite
from typing import Any

import certifi
import httpx

from mailroom_common.errors import ProviderUnavailable, Rejected, SettingsError
from mailroom_common.providers.json_answers import parse_json
from mailroom_common.settings import TLSSettings

USER_AGENT = "mailroom/0.1"
JSON_LIMIT_BYTES = 32 * 1024 * 1024
ERROR_BODY_LIMIT_BYTES = 64 * 1024
MAX_WAIT_S = 3600.0  # of what a provider asks for: a mistake on its side must not pause a mailbox for a day
_CONNECT_TIMEOUT_S = 10.0


def build_ssl_context(settings: TLSSettings) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=settings.ca_bundle or certifi.where())


def open_client(settings: TLSSettings, *, timeout_s: float) -> httpx.AsyncClient:
    """The caller closes it. `timeout_s` bounds each read, not the whole of a stream."""
    return httpx.AsyncClient(
        verify=build_ssl_context(settings),
        trust_env=False,
        proxy=settings.https_proxy,
        timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_TIMEOUT_S)),
        limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
        follow_redirects=False,
        # No cookies are kept: one mailbox's session must not follow into another's call.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": USER_AGENT},
    )


def open_blocking_client(settings: TLSSettings, *, timeout_s: float) -> httpx.Client:
    """The same for a library that blocks (msal), which runs in a thread."""
    return httpx.Client(
        verify=build_ssl_context(settings),
        trust_env=False,
        proxy=settings.https_proxy,
        timeout=timeout_s,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": USER_AGENT},
    )


class BaseURL:
    """A configured address. Links that a provider hands out are kept relative to it and lead nowhere else."""

    def __init__(self, configured: str) -> None:
        self._text = configured.rstrip("/")
        self._url = httpx.URL(self._text)

    def build_url(self, relative: str) -> str:
        """`relative` is a path of ours or a link that `relativize_link` gave; either way it begins with a slash."""
        if not relative.startswith("/"):
            raise ProviderUnavailable("a stored link is not relative to the configured address")
        return self._text + relative

    def relativize_link(self, link: str) -> str:
        """What follows the configured address in a provider's link, byte for byte.

        Raises:
            ProviderUnavailable: the link leads to another scheme, host, port or base path. It is not followed.
        """
        try:
            url = httpx.URL(link)
        except (httpx.InvalidURL, ValueError) as error:
            raise ProviderUnavailable("the provider's link is no address") from error
        base_path = self._url.raw_path.decode("ascii").rstrip("/")
        target = url.raw_path.decode("ascii")
        if not is_same_origin(url, self._url) or url.userinfo or not target.startswith(f"{base_path}/"):
            raise ProviderUnavailable("the provider's link leads away from the configured address")
        return target[len(base_path) :]


def read_origin(configured: str, *, variable: str) -> str:
    """Scheme, host and port as a Content-Security-Policy names them. Raises SettingsError when there are none."""
    url = httpx.URL(configured)
    if not url.scheme or not url.host:
        raise SettingsError(f"{variable} is wrong: an absolute URL is needed.")
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def is_same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    return _split_origin(one) == _split_origin(other)


def _split_origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host.lower(), url.port or {"https": 443, "http": 80}.get(url.scheme)


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """A whole answer, within a limit of size. The body is somebody's mail: it never reaches a log or an error."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def parse_object(self) -> dict[str, Any]:
        """Any: a provider's payload, read member by member where it is mapped.

        Raises:
            ProviderUnavailable: a gateway's HTML or half an answer, where JSON was due.
        """
        try:
            value = parse_json(self.body)
        except ValueError:
            raise ProviderUnavailable("the provider answered with something other than JSON") from None
        if not isinstance(value, dict):
            raise ProviderUnavailable("the provider answered with JSON that is no object")
        return value

    def parse_object_or_empty(self) -> dict[str, Any]:
        """For error bodies, which may be JSON, HTML or empty."""
        try:
            value = parse_json(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@asynccontextmanager
async def open_response(client: httpx.AsyncClient, request: httpx.Request) -> AsyncIterator[httpx.Response]:
    """The response with its body unread. A connection that breaks, also while it is read, is ProviderUnavailable."""
    try:
        response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()
    except (httpx.RequestError, httpx.StreamError) as error:
        raise ProviderUnavailable(f"{request.url.host} could not be reached: {type(error).__name__}") from error


async def read_answer(response: httpx.Response, *, limit_bytes: int = JSON_LIMIT_BYTES) -> ProviderAnswer:
    """Raises Rejected when a success is larger than `limit_bytes`; an error's body is cut instead."""
    if not response.is_success:
        limit_bytes = ERROR_BODY_LIMIT_BYTES
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit_bytes:
            if response.is_success:
                raise Rejected(f"{response.url.host} answered with more than {limit_bytes} bytes")
            break
    return ProviderAnswer(response.status_code, response.headers, bytes(body[:limit_bytes]))


async def send_request(
    client: httpx.AsyncClient, request: httpx.Request, *, limit_bytes: int = JSON_LIMIT_BYTES
) -> ProviderAnswer:
    async with open_response(client, request) as response:
        return await read_answer(response, limit_bytes=limit_bytes)


def parse_retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds that the provider asks us to wait: `Retry-After` as an integer, a decimal or a date; None when absent.

    Source: Graph sends `Retry-After: 2.128` (providers/graph.md 12); RFC 9110 10.2.3 allows a date.
    """
    text = (headers.get("Retry-After") or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return _parse_date_wait_s(text, now)
    return min(max(seconds, 0.0), MAX_WAIT_S) if isfinite(seconds) else None


def _parse_date_wait_s(date: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return None
    seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    return min(max(seconds, 0.0), MAX_WAIT_S)


_WORD = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


def sanitize_code(value: object) -> str:
    """A provider's error code as it may be logged; empty when it is anything but a short plain word."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
