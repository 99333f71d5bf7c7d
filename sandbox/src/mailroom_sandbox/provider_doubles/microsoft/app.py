"""The Microsoft side as one ASGI application: identity platform and Graph share a host here."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mailroom_sandbox.provider_doubles.microsoft.access import GraphAuthorizer
from mailroom_sandbox.provider_doubles.microsoft.delta import Delta
from mailroom_sandbox.provider_doubles.microsoft.directory import Directory
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.microsoft.graph import JSON, Graph
from mailroom_sandbox.provider_doubles.microsoft.identity import IdentityPlatform
from mailroom_sandbox.provider_doubles.microsoft.mailbox import GraphMailboxes
from mailroom_sandbox.provider_doubles.microsoft.messages import GraphMessages
from mailroom_sandbox.provider_doubles.microsoft.notifications import GraphChannel, GraphNotifications
from mailroom_sandbox.provider_doubles.microsoft.subscriptions import Subscriptions
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.wire import build_response, call_from_request


class Microsoft:
    def __init__(self, state: ProviderState) -> None:
        directory = Directory(state.store, state.now)
        errors = GraphErrors(state.now)
        access = GraphAuthorizer(state.tokens, directory, errors)
        messages = GraphMessages(state.store, directory, errors, state.faults, state.now)
        delta = Delta(state.store, state.seal, state.faults, state.now, messages, errors)
        self.notifications = GraphNotifications(state.store, state.dispatcher, state.faults, directory, state.now)
        subscriptions = Subscriptions(state, access, directory, self.notifications, errors)
        state.dispatcher.add_channel(GraphChannel(state.http, state.settings))
        self.directory = directory
        self.mailboxes = GraphMailboxes(state.store, state.now, directory, self.notifications)
        self.graph = Graph(state, directory, access, messages, delta, subscriptions, errors)
        self.app = _build_app(IdentityPlatform(state, directory), self.graph)


def _build_app(identity: IdentityPlatform, graph: Graph) -> Starlette:
    async def on_graph(request: Request) -> Response:
        return build_response(await graph.answer_call(await call_from_request(request)), JSON)

    return Starlette(
        routes=[
            Route("/v1.0/{path:path}", on_graph, methods=["GET", "POST", "PATCH", "PUT", "DELETE"]),
            Route("/{tenant}/v2.0/.well-known/openid-configuration", identity.answer_configuration),
            Route("/{tenant}/discovery/v2.0/keys", identity.answer_keys),
            Route("/{tenant}/oauth2/v2.0/authorize", identity.answer_authorize, methods=["GET", "POST"]),
            Route("/{tenant}/oauth2/v2.0/token", identity.answer_token, methods=["POST"]),
        ]
    )
