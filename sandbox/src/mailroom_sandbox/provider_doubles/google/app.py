"""The Google side as one ASGI application: accounts, token, certificates and Gmail share a host here."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mailroom_sandbox.provider_doubles.google.accounts import GmailMailboxes
from mailroom_sandbox.provider_doubles.google.gmail import JSON, Gmail
from mailroom_sandbox.provider_doubles.google.oauth import GoogleOAuth
from mailroom_sandbox.provider_doubles.google.pubsub import PubSubChannel, Watches
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.wire import build_response, call_from_request


class Google:
    def __init__(self, state: ProviderState) -> None:
        state.dispatcher.add_channel(PubSubChannel(state.http, state.settings, state.google_key, state.now))
        watches = Watches.from_state(state)
        self.mailboxes = GmailMailboxes(state.store, state.now, watches)
        self.gmail = Gmail(state, self.mailboxes, watches)
        self.app = _build_app(GoogleOAuth(state, self.mailboxes), self.gmail)


def _build_app(oauth: GoogleOAuth, gmail: Gmail) -> Starlette:
    async def on_gmail(request: Request) -> Response:
        return build_response(await gmail.answer_call(await call_from_request(request)), JSON)

    async def on_batch(request: Request) -> Response:
        return build_response(await gmail.answer_batch(await call_from_request(request)), JSON)

    both = ["GET", "POST"]
    return Starlette(
        routes=[
            Route("/o/oauth2/v2/auth", oauth.answer_authorize, methods=both),
            Route("/o/oauth2/auth", oauth.answer_authorize, methods=both),
            Route("/token", oauth.answer_token, methods=["POST"]),
            Route("/revoke", oauth.answer_revoke, methods=["POST"]),
            Route("/oauth2/v1/certs", oauth.certificates_pem),
            Route("/oauth2/v3/certs", oauth.certificates_jwk),
            Route("/batch", on_batch, methods=["POST"]),
            Route("/batch/gmail/v1", on_batch, methods=["POST"]),
            Route("/gmail/v1/{path:path}", on_gmail, methods=["GET", "POST", "PUT", "DELETE"]),
        ]
    )
