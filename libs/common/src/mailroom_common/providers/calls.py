"""Calls to a provider's mail API with a mailbox's access token; every call of a provider package goes through here.

A call holds a slot of its mailbox, carries the token only to the configured address, and on 401 is repeated once with
a token that is newer than the refused one. What the provider refuses becomes one of our errors by the provider's own
table (`errors.py` of its package).
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from mailroom_common.budgets.waiting import find_wait_limit
from mailroom_common.errors import MailroomError, Retryable, Throttled, TokenRefused
from mailroom_common.metrics import PROVIDER_CALL_S, PROVIDER_CALLS
from mailroom_common.providers.http import (
    JSON_LIMIT_BYTES,
    BaseURL,
    ProviderAnswer,
    open_response,
    parse_retry_after_s,
    read_answer,
)
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox

# A throttle that names no wait, as Gmail's usual 403 and 429: quotas are counted by the minute, so an earlier call is
# refused again and may count itself.
UNNAMED_THROTTLE_S = 15.0
# How often one call is made again after a throttle: the next one concerns the caller.
_MAX_THROTTLES = 2

_PLAIN_IN_QUERY = "$,:'()/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """`name` is what logs, metrics and errors say; `path` begins with a slash, follows the configured address, and may
    be a stored link with a query of its own. `units` is what the call costs, 0 what each call of the provider
    costs."""

    name: str
    path: str
    method: str = "GET"
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    units: int = 0
    limit_bytes: int = JSON_LIMIT_BYTES
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that is no success. `payload` may tell what a code alone does not; it is never logged."""

    call: ProviderCall
    status: int
    headers: httpx.Headers
    payload: dict[str, Any] = field(repr=False)
    retry_after_s: float | None = None

    def build_sentence(self, provider: str, code: str) -> str:
        status = f"{self.status} {code}".rstrip()
        request_id = self.headers.get("request-id", "")[:64]
        return f"{provider} answered {status} to {self.call.name}" + (f" (request {request_id})" if request_id else "")


RefusalMapper = Callable[[Mailbox, Refusal], MailroomError]


@dataclass(frozen=True, slots=True)
class GrantToken:
    """`AccessTokenSource` of a grant that is not stored yet: it cannot be refreshed."""

    token: str = field(repr=False)

    async def get_access_token(self, _mailbox: Mailbox, /, *, rejected: str | None = None) -> str:
        if rejected is not None:
            raise TokenRefused("the provider refuses the grant it has just given", grant_generation=0)
        return self.token


def format_query(query: Mapping[str, str | Sequence[str]]) -> str:
    """OData's way: `$` stays as it is in names, and a blank is `%20`, never a plus."""
    pairs = [
        f"{name}={quote(value, safe=_PLAIN_IN_QUERY)}"
        for name, values in query.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return f"?{'&'.join(pairs)}" if pairs else ""


class ProviderCalls:
    def __init__(
        self,
        provider: str,
        http: httpx.AsyncClient,
        base: BaseURL,
        tokens: AccessTokenSource,
        quota: Quota,
        map_refusal: RefusalMapper,
        *,
        headers: Mapping[str, str] | None = None,
        default_units: int = 0,
    ) -> None:
        self._provider = provider
        self._http = http
        self._base = base
        self._tokens = tokens
        self._quota = quota
        self._map_refusal = map_refusal
        self._headers = dict(headers or {})
        self._default_units = default_units

    async def fetch_json(
        self, mailbox: Mailbox, call: ProviderCall, *, map_refusal: RefusalMapper | None = None
    ) -> dict[str, Any]:
        return (await self.fetch_answer(mailbox, call, map_refusal=map_refusal)).parse_object()

    async def fetch_answer(
        self, mailbox: Mailbox, call: ProviderCall, *, map_refusal: RefusalMapper | None = None
    ) -> ProviderAnswer:
        async with self.stream_answer(mailbox, call, map_refusal=map_refusal) as response:
            return await read_answer(response, limit_bytes=call.limit_bytes)

    @asynccontextmanager
    async def stream_answer(
        self, mailbox: Mailbox, call: ProviderCall, *, map_refusal: RefusalMapper | None = None
    ) -> AsyncIterator[httpx.Response]:
        """A successful answer with its body unread.

        `map_refusal` may map a refusal otherwise than the provider's table: what a 404 means depends on the call.
        """
        async with AsyncExitStack() as held:
            yield await self._open_success(held, mailbox, call, map_refusal)

    async def _open_success(
        self, held: AsyncExitStack, mailbox: Mailbox, call: ProviderCall, map_refusal: RefusalMapper | None
    ) -> httpx.Response:
        """A call that was throttled is made again after its pause, where the caller may wait that long: the provider
        has not carried it out, whatever its method."""
        for _ in range(_MAX_THROTTLES):
            try:
                return await held.enter_async_context(self._send_with_token(mailbox, call, map_refusal))
            except Throttled as error:
                if not error.retry_after_s or not find_wait_limit().allows(error.retry_after_s):
                    raise
        return await held.enter_async_context(self._send_with_token(mailbox, call, map_refusal))

    @asynccontextmanager
    async def _send_with_token(
        self, mailbox: Mailbox, call: ProviderCall, map_refusal: RefusalMapper | None
    ) -> AsyncIterator[httpx.Response]:
        async with self._quota.hold_slot(mailbox, units=call.units or self._default_units):
            token = await self._tokens.get_access_token(mailbox)
            # A 401 is tried once more: tokens are revoked or expire early, and a second 401 is a refusal.
            async with self._send_call(call, token) as response:
                if response.status_code != httpx.codes.UNAUTHORIZED:
                    yield await self._require_success(mailbox, call, response, map_refusal)
                    return
                await read_answer(response)  # read to its end, so that the connection can be used again
            token = await self._tokens.get_access_token(mailbox, rejected=token)
            async with self._send_call(call, token) as response:
                yield await self._require_success(mailbox, call, response, map_refusal)

    @asynccontextmanager
    async def _send_call(self, call: ProviderCall, token: str) -> AsyncIterator[httpx.Response]:
        request = self._http.build_request(
            call.method,
            self._base.build_url(call.path) + format_query(call.query),
            content=None if call.body is None else orjson.dumps(call.body),
            headers={
                **self._headers,
                **({} if call.body is None else {"Content-Type": "application/json"}),
                **call.headers,
                "Authorization": f"Bearer {token}",
            },
            timeout=httpx.USE_CLIENT_DEFAULT if call.timeout_s is None else call.timeout_s,
        )
        outcome, started = "unreachable", time.monotonic()
        try:
            async with open_response(self._http, request) as response:
                outcome = str(response.status_code)
                yield response
        finally:
            PROVIDER_CALLS.labels(self._provider, call.name, outcome).inc()
            PROVIDER_CALL_S.labels(self._provider, call.name).observe(time.monotonic() - started)

    async def _require_success(
        self, mailbox: Mailbox, call: ProviderCall, response: httpx.Response, map_refusal: RefusalMapper | None
    ) -> httpx.Response:
        if response.is_success:
            return response
        answer = await read_answer(response)
        refusal = Refusal(
            call=call,
            status=answer.status,
            headers=answer.headers,
            payload=answer.parse_object_or_empty(),
            retry_after_s=parse_retry_after_s(answer.headers, now=datetime.now(UTC)),
        )
        error = (map_refusal or self._map_refusal)(mailbox, refusal)
        # All calls to this mailbox pause, whichever task makes them: each would prolong the throttle.
        if isinstance(error, Throttled):
            self._quota.pause_mailbox(mailbox, error.retry_after_s or UNNAMED_THROTTLE_S)
        elif isinstance(error, Retryable) and error.retry_after_s:
            self._quota.pause_mailbox(mailbox, error.retry_after_s)
        raise error
