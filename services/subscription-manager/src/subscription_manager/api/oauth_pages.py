"""`/oauth/{provider}`: the pages that a person sees while connecting a mailbox.

They are rendered with everything escaped, under a policy that lets nothing run and forms go nowhere but here and to the
provider: browsers hold the redirect that follows a form to `form-action` as well.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mailroom_common.errors import ActionRequired, Retryable
from mailroom_common.events import Profile, Provider
from mailroom_common.logs import get_logger
from mailroom_common.metrics import CONSENTS
from subscription_manager.handlers.connect_mailbox import Answer, ConnectMailbox, FlowRefused

log = get_logger()

_LONGEST_FORM_BYTES = 4096
_LONGEST_TICKET = 200

_PROVIDER_NAMES = {Provider.OUTLOOK: "Outlook", Provider.GMAIL: "Gmail"}
_PURPOSES = {
    Profile.INVOICE: "to read incoming mail and file the invoices in it",
    Profile.CONTRACT_NOTE: "to read incoming mail and file the contract notes in it",
    Profile.OBSERVATION: "to see when mail arrives, changes or moves, never what is in it",
}


@dataclass(frozen=True, slots=True)
class Site:
    """`provider_origins`: where each provider's consent page lives."""

    public_url: str
    provider_origins: Mapping[str, str]
    flow_lifetime_s: int

    @property
    def is_secure(self) -> bool:
        return self.public_url.startswith("https://")

    def cookie_name(self, flow_id: str) -> str:
        # One cookie per flow: two links opened side by side do not disturb each other.
        return f"{'__Host-' if self.is_secure else ''}mailroom-connect-{flow_id}"


def oauth_routes(connect: ConnectMailbox, site: Site) -> APIRouter:
    routes = APIRouter(prefix="/oauth")
    pages = _Pages()

    @routes.get("/{provider}/authorize")
    async def ask(provider: Provider, ticket: str = "") -> Response:
        try:
            connection = await connect.look_at(provider, ticket[:_LONGEST_TICKET])
        except FlowRefused as refused:
            return pages.refusal(str(refused))
        return pages.page(
            "ask.html",
            form_to=site.provider_origins.get(provider),
            ticket=ticket,
            action=f"/oauth/{provider}/authorize",
            tenant=connection.tenant_id,
            provider=_PROVIDER_NAMES[provider],
            purpose=_PURPOSES[connection.profile],
            address=connection.address,
        )

    @routes.post("/{provider}/authorize")
    async def begin(provider: Provider, request: Request) -> Response:
        if not _comes_from_us(request, site):
            return pages.refusal("This was not sent from our page. Open the link again.", HTTPStatus.FORBIDDEN)
        ticket = await _ticket_of(request)
        try:
            sent = await connect.begin(provider, ticket)
        except FlowRefused as refused:
            return pages.refusal(str(refused))
        except (Retryable, ActionRequired) as error:
            return _provider_trouble(pages, error)
        # 303: the provider is asked by GET, and the ticket is not sent along.
        answer = RedirectResponse(
            sent.url, HTTPStatus.SEE_OTHER, headers=pages.headers(site.provider_origins.get(provider))
        )
        answer.set_cookie(
            site.cookie_name(sent.flow_id),
            sent.cookie,
            max_age=site.flow_lifetime_s,
            path="/",
            secure=site.is_secure,
            httponly=True,
            # Lax: the provider sends the browser back by a top-level GET, which is cross-site.
            samesite="lax",
        )
        return answer

    @routes.get("/{provider}/callback")
    async def finish(
        provider: Provider, request: Request, state: str = "", code: str | None = None, error: str | None = None
    ) -> Response:
        # An error counts before a code: some providers send both.
        answer = Answer(state, None if error else code, error)
        try:
            connection = await connect.finish(
                provider, answer, lambda flow_id: request.cookies.get(site.cookie_name(flow_id))
            )
        except FlowRefused as refused:
            CONSENTS.labels(provider, "refused").inc()
            return pages.refusal(str(refused))
        except (Retryable, ActionRequired) as trouble:
            return _provider_trouble(pages, trouble)
        CONSENTS.labels(provider, "connected").inc()
        return pages.page(
            "done.html", provider=_PROVIDER_NAMES[provider], address=connection.address, tenant=connection.tenant_id
        )

    return routes


def _provider_trouble(pages: "_Pages", error: Exception) -> Response:
    log.warning("consent_interrupted", error=type(error).__name__, reason=str(error))
    return pages.refusal(
        "The provider could not be reached, or refused us. Ask for a new link and try again in a moment.",
        HTTPStatus.BAD_GATEWAY,
    )


def _comes_from_us(request: Request, site: Site) -> bool:
    """Nobody else's page may press our button: it would connect the visitor's mailbox to a stranger's doc source.

    Browsers name the origin of every form they post; what names none is no browser, and has no visitor.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    ours = {urlsplit(site.public_url).netloc, request.headers.get("host", "")}
    return urlsplit(origin).netloc in ours


async def _ticket_of(request: Request) -> str:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM_BYTES:
            return ""
    form = dict(parse_qsl(body.decode("ascii", errors="replace")))
    return form.get("ticket", request.query_params.get("ticket", ""))[:_LONGEST_TICKET]


class _Pages:
    def __init__(self) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined
        )

    def page(
        self, name: str, *, status: HTTPStatus = HTTPStatus.OK, form_to: str | None = None, **facts: str | None
    ) -> HTMLResponse:
        nonce = secrets.token_urlsafe(16)
        html = self._templates.get_template(name).render(nonce=nonce, **facts)
        return HTMLResponse(html, status, headers=self.headers(form_to, nonce))

    def refusal(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> HTMLResponse:
        return self.page("refused.html", status=status, sentence=sentence)

    def headers(self, form_to: str | None = None, nonce: str | None = None) -> dict[str, str]:
        forms = "'self'" if form_to is None else f"'self' {form_to}"
        styles = "'none'" if nonce is None else f"'nonce-{nonce}'"
        return {
            "Content-Security-Policy": f"default-src 'none'; style-src {styles}; form-action {forms}; "
            "base-uri 'none'; frame-ancestors 'none'",
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            # The address holds a ticket or a code: no cache, no history of another site may have it.
            "Referrer-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
