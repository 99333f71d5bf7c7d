"""One call and one answer, whether they came over a connection of their own or inside a batch, and what is between
them and Starlette."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import parse_qs, parse_qsl

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Call:
    """`headers` have lower-case names; `base_url` is scheme and host as the caller wrote them."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    base_url: str
    batched: bool = False

    def query_value(self, name: str) -> str | None:
        values = self.query.get(name)
        return values[0] if values else None

    def read_preferences(self) -> dict[str, str]:
        """The `Prefer` header: `odata.maxpagesize=5, IdType="ImmutableId"`, names in lower case."""
        preferences = {}
        for preference in self.headers.get("prefer", "").split(","):
            name, _, value = preference.partition("=")
            preferences[name.strip().lower()] = value.strip().strip('"')
        return preferences


@dataclass(frozen=True, slots=True)
class Reply:
    """`body` is JSON when it is a dict, sent as it is when bytes, absent when None.

    With `break_after_bytes` the connection ends so far into the body.
    """

    status: int = 200
    body: Mapping[str, object] | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str | None = None
    break_after_bytes: int | None = None

    def content(self) -> bytes:
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        try:
            return orjson.dumps(self.body)
        except orjson.JSONEncodeError:
            return json.dumps(self.body).encode()  # a mail nested deeper than the 254 levels of orjson

    def content_type(self, for_json: str) -> str | None:
        if self.body is None:
            return None
        return self.media_type or ("application/octet-stream" if isinstance(self.body, bytes) else for_json)

    def with_headers(self, **more: str) -> "Reply":
        return replace(
            self, headers={**self.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        )


class Refused(Exception):
    """Ends a call with this answer; raised wherever a rule says no."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"refused with {reply.status}")
        self.reply = reply


def to_ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def from_ms(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def format_graph_time(milliseconds: int) -> str:
    """Whole seconds, as Graph writes them although it compares with more."""
    return from_ms(milliseconds).strftime("%Y-%m-%dT%H:%M:%SZ")


class TokenSeal:
    """Makes and reads opaque tokens (page tokens, delta tokens, attachment ids) that survive a restart."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal_token(self, kind: str, content: Mapping[str, object]) -> str:
        text = orjson.dumps([secrets.token_hex(3), kind, content])
        return base64.urlsafe_b64encode(self._compute_tag(text) + text).decode().rstrip("=")

    def open_token(self, kind: str, token: str) -> dict[str, object] | None:
        """None for what this sandbox never gave out."""
        try:
            sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        tag, text = sealed[:10], sealed[10:]
        if not hmac.compare_digest(tag, self._compute_tag(text)):
            return None
        _, found, content = orjson.loads(text)
        return dict(content) if found == kind else None

    def _compute_tag(self, text: bytes) -> bytes:
        return hmac.new(self._key, text, hashlib.sha256).digest()[:10]


async def call_from_request(request: Request) -> Call:
    return Call(
        method=request.method,
        path=request.scope["path"],
        query={name: tuple(values) for name, values in parse_qs(request.url.query, keep_blank_values=True).items()},
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
        base_url=f"{request.url.scheme}://{request.headers['host']}",
    )


def build_response(reply: Reply, json_type: str) -> Response:
    headers = dict(reply.headers)
    response = (
        Response(reply.content(), status_code=reply.status, headers=headers)
        if reply.break_after_bytes is None
        else _BrokenResponse(reply.content(), reply.break_after_bytes, status_code=reply.status, headers=headers)
    )
    content_type = reply.content_type(json_type)
    if content_type:
        response.headers["content-type"] = content_type
    return response


class _BrokenResponse(Response):
    """Promises its whole content and ends before it: the server then closes the connection."""

    def __init__(self, content: bytes, break_after_bytes: int, *, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(content, status_code=status_code, headers=headers)
        self._break_after_bytes = break_after_bytes

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        begun = bytes(self.body)[: self._break_after_bytes]
        await send({"type": "http.response.body", "body": begun, "more_body": True})


async def read_form(request: Request) -> list[tuple[str, str]]:
    """The fields of an urlencoded form, in order; a name may come twice."""
    return parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
