"""The webhook routes: from a request of a provider to a status code."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mailroom_common.errors import Rejected, Retryable, Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import GATEWAY_ITEMS, GATEWAY_RESPONSE_S, GATEWAY_RESPONSES
from mailroom_common.tracing import bind_traceparent
from webhook_gateway.api.graph_body import parse_graph_body
from webhook_gateway.api.http import (
    BodyTooLarge,
    Endpoint,
    build_problem,
    find_client_address,
    read_body,
)
from webhook_gateway.api.pubsub_body import parse_pubsub_body
from webhook_gateway.domain.pushes import PushOutcome, PushResult
from webhook_gateway.handlers.receive_gmail_push import GmailPushReceiver
from webhook_gateway.handlers.receive_graph_push import GraphPushReceiver
from webhook_gateway.ports import PushAuthenticator
from webhook_gateway.settings import Networks

log = get_logger()

GRAPH_PATHS = (
    "/webhooks/outlook",
    "/webhooks/outlook/lifecycle",
    "/webhooks/graph",
    "/api/graph/notifications",
    "/api/graph/lifecycle",
)
GMAIL_PATH = "/webhooks/gmail"

_BODY_TIMEOUT_S = 10.0


class WebhookRoutes:
    """`check_readiness` returns why pushes cannot be judged yet, None once they can. Without a `subscription` to
    compare with, pushes of every Pub/Sub subscription are accepted."""

    def __init__(
        self,
        graph: GraphPushReceiver,
        gmail: GmailPushReceiver,
        authenticator: PushAuthenticator,
        *,
        check_readiness: Callable[[], str | None],
        subscription: str | None,
        trusted_proxies: Networks,
        max_body_bytes: int,
        push_timeout_s: float,
    ) -> None:
        self._graph = graph
        self._gmail = gmail
        self._authenticator = authenticator
        self._check_readiness = check_readiness
        self._subscription = subscription
        self._trusted_proxies = trusted_proxies
        self._max_body_bytes = max_body_bytes
        self._push_timeout_s = push_timeout_s

    def build_endpoints(self) -> dict[str, Endpoint]:
        """The endpoint of each path. Graph may mix changes and lifecycle events in one POST, so its paths share one."""
        graph = self._build_endpoint("outlook", self.receive_graph_push)
        return {**dict.fromkeys(GRAPH_PATHS, graph), GMAIL_PATH: self._build_endpoint("gmail", self.receive_gmail_push)}

    async def receive_graph_push(self, request: Request) -> Response:
        if (token := request.query_params.get("validationToken")) is not None:
            return _answer_handshake(token)
        items = parse_graph_body(await self._read_body(request))
        result = await self._receive_within_deadline(
            lambda remaining_s: self._graph.receive_push(items, remaining_s=remaining_s)
        )
        count_items("outlook", result)
        if result.outcome is PushOutcome.MISMATCHED:
            self._log_security_event(
                "client_state_mismatch",
                request,
                items=result.mismatched,
                doc_source_ids=list(result.mismatched_doc_source_ids),
            )
            return build_problem(401, "The client state of an item is not ours", www_authenticate="ClientState")
        return Response(status_code=202)

    async def receive_gmail_push(self, request: Request) -> Response:
        # Proof, then subscription, then address: whoever fails one learns nothing about the next.
        token = request.headers.get("x-goog-pubsub-token")
        is_genuine = await self._authenticator.is_genuine(
            authorization=request.headers.get("authorization"),
            token=request.query_params.get("token") if token is None else token,
        )
        if not is_genuine:
            self._log_security_event("pubsub_token_refused", request)
            return build_problem(403, "The push does not prove where it comes from")
        push = parse_pubsub_body(await self._read_body(request), request.headers.get("x-goog-pubsub-subscription-name"))
        if self._subscription is not None and push.subscription != self._subscription:
            self._log_security_event("pubsub_subscription_refused", request)
            return build_problem(403, "The push is of another subscription")
        result = await self._receive_within_deadline(
            lambda remaining_s: self._gmail.receive_push(push, remaining_s=remaining_s)
        )
        count_items("gmail", result)
        if result.outcome is PushOutcome.UNKNOWN_ADDRESS:
            # Acknowledged, since no repeat would make the address known.
            GATEWAY_ITEMS.labels("gmail", "unknown_address").inc()
            return Response(status_code=200)
        return Response(status_code=202)

    async def _receive_within_deadline(
        self, receive_push: Callable[[Callable[[], float]], Awaitable[PushResult]]
    ) -> PushResult:
        """The push's result. Raises Unavailable where the process is not ready for pushes."""
        if (reason := self._check_readiness()) is not None:
            raise Unavailable(reason)
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._push_timeout_s
        # All records of a push share a new trace: the trace context of an untrusted request is not continued.
        with bind_traceparent(None):
            return await receive_push(lambda: deadline_s - loop.time())

    async def _read_body(self, request: Request) -> bytes:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            return await read_body(request, self._max_body_bytes)

    def _build_endpoint(self, provider: str, route: Endpoint) -> Endpoint:
        response_s = GATEWAY_RESPONSE_S.labels(provider)

        async def respond_and_count(request: Request) -> Response:
            with response_s.time():
                response = await self._respond(request, route)
            GATEWAY_RESPONSES.labels(provider, str(response.status_code)).inc()
            return response

        return respond_and_count

    async def _respond(self, request: Request, route: Endpoint) -> Response:
        if request.method != "POST":
            return build_problem(405, "Only POST", allow="POST")
        try:
            return await route(request)
        except BodyTooLarge:
            return build_problem(413, "The body is too large", connection="close")
        except Rejected as error:
            return build_problem(400, str(error))
        except Retryable as error:
            # Fast: Graph counts slow responses and then drops notifications, while a fast 503 is only repeated.
            log.warning("push_not_stored", path=_get_path(request), reason=str(error))
            return build_problem(503, "Not stored: retry later", retry_after="5")
        except (TimeoutError, ClientDisconnect):
            return build_problem(408, "The body did not arrive in time", connection="close")
        except Exception:
            # A bug of ours: the provider got 500 and repeats the push.
            log.exception("push_crashed", path=_get_path(request))
            return build_problem(500, "Something failed here")

    def _log_security_event(self, kind: str, request: Request, **fields: object) -> None:
        """One log line per request, however many items it has: a flood of items must not become one of log lines."""
        address = find_client_address(
            request.client.host if request.client else None,
            request.headers.getlist("x-forwarded-for"),
            self._trusted_proxies,
        )
        # A push without valid proof: one event per request, however many items it had.
        log.warning("security_event_detected", kind=kind, path=_get_path(request), source_address=address, **fields)


def _get_path(request: Request) -> str:
    # Not `request.url`, which fails for a malformed Host header.
    return str(request.scope["path"])


def count_items(provider: str, result: PushResult) -> None:
    for outcome, count in (
        ("written", result.written),
        ("dropped", result.dropped),
        ("mismatched", result.mismatched),
    ):
        if count:
            GATEWAY_ITEMS.labels(provider, outcome).inc(count)


def _answer_handshake(token: str) -> Response:
    """Graph expects the decoded token and nothing else.

    Anybody can send a handshake, so no browser may take the answer for a page. Only `<` and `>` are escaped, without
    which there is no markup: Graph would not recognize a token whose `&` or quotes were changed.
    """
    if not token:
        return build_problem(400, "The validation token is empty")
    escaped = token.replace("<", "&lt;").replace(">", "&gt;")
    headers = {"x-content-type-options": "nosniff"}
    return Response(escaped.encode("utf-8", "replace"), headers=headers, media_type="text/plain")
