"""The webhook routes: from a request to a status code."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from typing import TypeVar

from mailroom_common.errors import Rejected, Retryable, Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import GATEWAY_ANSWERS, GATEWAY_ITEMS
from mailroom_common.tracing import bind_traceparent
from webhook_gateway.api.graph_body import items_in
from webhook_gateway.api.http import Answer, Endpoint, Gone, Request, TooLarge, problem
from webhook_gateway.api.pubsub_body import push_in
from webhook_gateway.api.time_limit import TimeLimit
from webhook_gateway.domain.source_address import source_address
from webhook_gateway.handlers.answers import Outcome, Received
from webhook_gateway.handlers.receive_gmail import ReceiveGmail
from webhook_gateway.handlers.receive_graph import ReceiveGraph
from webhook_gateway.ports import ProvesPushes

log = get_logger()

GRAPH_PATHS = (
    "/webhooks/outlook",
    "/webhooks/outlook/lifecycle",
    "/webhooks/graph",
    "/api/graph/notifications",
    "/api/graph/lifecycle",
)
GMAIL_PATH = "/webhooks/gmail"

_ACCEPTED = Answer(202)
_ACKNOWLEDGED = Answer(200)
_COME_AGAIN = problem(503, "Not stored: come again", (b"retry-after", b"5"))
_BODY_WITHIN_S = 10.0
_DISCARD_WITHIN_S = 2.0
_DISCARD_AT_MOST_BYTES = 32 * 1024 * 1024

T = TypeVar("T")


class Webhooks:
    """`is_ready` says why pushes cannot be judged yet, None once they can; `subscription` None takes any."""

    def __init__(
        self,
        graph: ReceiveGraph,
        gmail: ReceiveGmail,
        proof: ProvesPushes,
        *,
        is_ready: Callable[[], str | None],
        subscription: str | None,
        trusted_proxies: Sequence[IPv4Network | IPv6Network],
        max_body_bytes: int,
        answer_within_s: float,
    ) -> None:
        self._graph = graph
        self._gmail = gmail
        self._proof = proof
        self._is_ready = is_ready
        self._subscription = subscription
        self._trusted_proxies = trusted_proxies
        self._max_body_bytes = max_body_bytes
        self._answer_within_s = answer_within_s
        self._body_limit = TimeLimit(_BODY_WITHIN_S)

    def endpoints(self) -> dict[str, Endpoint]:
        counted_graph, counted_gmail = self._counted("outlook", self.graph), self._counted("gmail", self.gmail)
        return {**dict.fromkeys(GRAPH_PATHS, counted_graph), GMAIL_PATH: counted_gmail}

    async def graph(self, request: Request) -> Answer:
        """Changes and lifecycle events may be mixed in one POST, so all of Graph's paths are one route."""
        if (token := request.query("validationToken")) is not None:
            return _handshake(token)
        items = items_in(await self._body(request))
        received = await self._received(lambda left_s: self._graph.receive(items, left_s=left_s))
        _count("outlook", received)
        if received.outcome is Outcome.MISMATCH:
            self._tell_security(
                "client_state_mismatch", request, items=received.mismatched, doc_source_ids=sorted(received.claimed)
            )
            return problem(401, "The client state of an item is not ours", (b"www-authenticate", b"ClientState"))
        return _ACCEPTED

    async def gmail(self, request: Request) -> Answer:
        """Token, then subscription, then address: each is asked only of whom the one before let in."""
        token = request.header(b"x-goog-pubsub-token")
        genuine = await self._proof.is_genuine(
            authorization=request.header(b"authorization"), token=request.query("token") if token is None else token
        )
        if not genuine:
            self._tell_security("pubsub_token_refused", request)
            return problem(403, "The push does not prove where it comes from")
        push = push_in(await self._body(request), request.header(b"x-goog-pubsub-subscription-name"))
        if self._subscription is not None and push.subscription != self._subscription:
            self._tell_security("pubsub_subscription_refused", request)
            return problem(403, "The push is of another subscription")
        received = await self._received(lambda left_s: self._gmail.receive(push, left_s=left_s))
        _count("gmail", received)
        if received.outcome is Outcome.UNKNOWN_ADDRESS:
            GATEWAY_ITEMS.labels("gmail", "unknown_address").inc()
            return _ACKNOWLEDGED
        return _ACCEPTED

    async def _received(self, receive: Callable[[Callable[[], float]], Awaitable[Received]]) -> Received:
        if (reason := self._is_ready()) is not None:
            raise Unavailable(reason)
        loop = asyncio.get_running_loop()
        answer_at_s = loop.time() + self._answer_within_s
        with bind_traceparent(
            None
        ):  # one trace for all records of a POST; a stranger's own trace context is not taken over
            return await receive(lambda: answer_at_s - loop.time())

    async def _body(self, request: Request) -> bytes:
        with self._body_limit.watch():
            return await request.body(self._max_body_bytes)

    def _counted(self, provider: str, endpoint: Endpoint) -> Endpoint:
        """With what every route has in common: the method, and what becomes of errors."""
        counts = {status: GATEWAY_ANSWERS.labels(provider, str(status)) for status in (200, 202)}

        async def answered(request: Request) -> Answer:
            answer = await self._answer(request, endpoint)
            count = counts.get(answer.status) or GATEWAY_ANSWERS.labels(provider, str(answer.status))
            count.inc()
            return answer

        return answered

    async def _answer(self, request: Request, endpoint: Endpoint) -> Answer:
        if request.method != "POST":
            return problem(405, "Only POST", (b"allow", b"POST"))
        try:
            return await endpoint(request)
        except TooLarge:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DISCARD_WITHIN_S):
                    await request.discard(_DISCARD_AT_MOST_BYTES)
            return problem(413, "The body is too large", (b"connection", b"close"))
        except Rejected as error:
            return problem(400, str(error))
        except Retryable as error:
            # Fast: Graph counts slow answers against us and then drops notifications; a fast 503 is safe.
            log.warning("push_not_stored", path=request.path, reason=str(error))
            return _COME_AGAIN
        except (TimeoutError, Gone):
            return problem(408, "The body did not come in time", (b"connection", b"close"))
        except Exception:
            log.exception("push_failed", path=request.path)
            return problem(500, "Something failed here")

    def _tell_security(self, kind: str, request: Request, **facts: object) -> None:
        """One event for a request, however many items it had: a flood must not become one of log lines."""
        address = source_address(request.peer, request.headers(b"x-forwarded-for"), self._trusted_proxies)
        log.warning("security_event", kind=kind, path=request.path, source_address=address, **facts)


# Looked up once: a lookup by label costs as much as judging an item.
_ITEMS = {
    (provider, outcome): GATEWAY_ITEMS.labels(provider, outcome)
    for provider in ("outlook", "gmail")
    for outcome in ("written", "dropped", "mismatched")
}


def _count(provider: str, received: Received) -> None:
    for outcome, count in (
        ("written", received.written),
        ("dropped", received.dropped),
        ("mismatched", received.mismatched),
    ):
        if count:
            _ITEMS[provider, outcome].inc(count)


def _handshake(token: str) -> Answer:
    """Graph wants the decoded token and nothing else. Anybody can send one: no browser may take it for a page.

    Only `<` and `>` are escaped, which no markup can do without: a token that has `&` or quotes comes back as it was.
    """
    if not token:
        return problem(400, "The validation token is empty")
    headers = ((b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff"))
    escaped = token.replace("<", "&lt;").replace(">", "&gt;")
    return Answer(200, escaped.encode("utf-8", "replace"), headers)
