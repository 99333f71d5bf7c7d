"""`/oauth/{provider}`: the pages that a user sees while connecting a mailbox.

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
from mailroom_common.events import Profile
from mailroom_common.logs import get_logger
from mailroom_common.metrics import CONSENTS
from subscription_manager.domain.connection import hash_consent_scope
from subscription_manager.handlers.connect_mailbox import AuthorizationResponse, ConnectMailbox
from subscription_manager.handlers.consent_refusals import PROVIDER_AWAY, ConsentRefused

log = get_logger()

_MAX_FORM_BYTES = 4096
_MAX_TICKET_LENGTH = 200

_PURPOSES = {
    Profile.INVOICE: "to read incoming mail and file the invoices in it",
    Profile.CONTRACT_NOTE: "to read incoming mail and file the contract notes in it",
    Profile.OBSERVATION: "to see when mail arrives, changes or moves, never what is in it",
}
_MAILBOX_BUT_DRAFTS = "the whole mailbox but drafts, sent, deleted and junk mail"
_DEFAULT_FOLDERS = {
    Profile.INVOICE: _MAILBOX_BUT_DRAFTS,
    Profile.CONTRACT_NOTE: _MAILBOX_BUT_DRAFTS,
    Profile.OBSERVATION: "the whole mailbox",
}


@dataclass(frozen=True, slots=True)
class ConsentProvider:
    """`page_origin` is where its consent page lives, None where it is not set up."""

    display_name: str
    page_origin: str | None


@dataclass(frozen=True, slots=True)
class ConsentPageSettings:
    public_url: str
    providers: Mapping[str, ConsentProvider]
    flow_lifetime_s: int

    @property
    def is_secure(self) -> bool:
        return self.public_url.startswith("https://")

    def build_cookie_name(self, flow_id: str) -> str:
        # One cookie per flow: two links opened side by side do not disturb each other.
        return f"{'__Host-' if self.is_secure else ''}mailroom-connect-{flow_id}"


def build_oauth_routes(connect: ConnectMailbox, settings: ConsentPageSettings) -> APIRouter:
    routes = APIRouter(prefix="/oauth", include_in_schema=False)
    pages = _PageRenderer()
    _add_consent_page(routes, connect, settings, pages)
    _add_consent_button(routes, connect, settings, pages)
    _add_callback(routes, connect, settings, pages)
    return routes


def _add_consent_page(
    routes: APIRouter, connect: ConnectMailbox, settings: ConsentPageSettings, pages: "_PageRenderer"
) -> None:
    @routes.get("/{provider}/authorize")
    async def show_consent_page(provider: str, ticket: str = "") -> Response:
        try:
            consent_provider = _find_provider(settings, provider)
            connection = await connect.inspect_ticket(provider, ticket[:_MAX_TICKET_LENGTH])
        except ConsentRefused as refusal:
            return pages.render_refusal(str(refusal))
        return pages.render_page(
            "ask.html",
            form_target=consent_provider.page_origin,
            ticket=ticket,
            action=f"/oauth/{provider}/authorize",
            tenant=connection.tenant_id,
            provider=consent_provider.display_name,
            purpose=_PURPOSES[connection.profile],
            address=connection.address,
            start_at=connection.start_at,
            folders=connection.folders,
            default_folders=_DEFAULT_FOLDERS[connection.profile],
            scope=hash_consent_scope(connection),
        )


def _add_consent_button(
    routes: APIRouter, connect: ConnectMailbox, settings: ConsentPageSettings, pages: "_PageRenderer"
) -> None:
    @routes.post("/{provider}/authorize")
    async def begin_consent(provider: str, request: Request) -> Response:
        if not _is_from_our_page(request, settings):
            return pages.render_refusal("This was not sent from our page. Open the link again.", HTTPStatus.FORBIDDEN)
        form = await _read_form(request)
        try:
            consent_provider = _find_provider(settings, provider)
            redirect = await connect.begin_consent(
                provider, form.get("ticket", "")[:_MAX_TICKET_LENGTH], shown_scope=form.get("scope")
            )
        except ConsentRefused as refusal:
            return pages.render_refusal(str(refusal))
        except (Retryable, ActionRequired) as error:
            return _render_provider_trouble(pages, error)
        # 303: the provider is asked by GET, and the ticket is not sent along.
        response = RedirectResponse(
            redirect.url, HTTPStatus.SEE_OTHER, headers=_build_headers(consent_provider.page_origin)
        )
        response.set_cookie(
            settings.build_cookie_name(redirect.flow_id),
            redirect.cookie,
            max_age=settings.flow_lifetime_s,
            path="/",
            secure=settings.is_secure,
            httponly=True,
            # Lax: the provider sends the browser back by a top-level GET, which is cross-site.
            samesite="lax",
        )
        return response


def _add_callback(
    routes: APIRouter, connect: ConnectMailbox, settings: ConsentPageSettings, pages: "_PageRenderer"
) -> None:
    @routes.get("/{provider}/callback")
    async def finish_consent(
        provider: str, request: Request, state: str = "", code: str | None = None, error: str | None = None
    ) -> Response:
        # An error counts before a code: some providers send both.
        response = AuthorizationResponse(state, None if error else code, error)
        try:
            consent_provider = _find_provider(settings, provider)
            connection = await connect.finish_consent(
                provider, response, lambda flow_id: request.cookies.get(settings.build_cookie_name(flow_id))
            )
        except ConsentRefused as refusal:
            # A name that is none of ours is untrusted input, and no label.
            CONSENTS.labels(provider if provider in settings.providers else "unknown", "refused").inc()
            return pages.render_refusal(str(refusal))
        except (Retryable, ActionRequired) as trouble:
            return _render_provider_trouble(pages, trouble)
        CONSENTS.labels(provider, "connected").inc()
        return pages.render_page(
            "done.html", provider=consent_provider.display_name, address=connection.address, tenant=connection.tenant_id
        )


def _find_provider(settings: ConsentPageSettings, name: str) -> ConsentProvider:
    provider = settings.providers.get(name)
    if provider is None:
        known = ", ".join(sorted(settings.providers))
        raise ConsentRefused(f"There is no such provider here. Known are: {known}.")
    return provider


def _render_provider_trouble(pages: "_PageRenderer", error: Exception) -> Response:
    # The provider could not be reached or refused us; the user was asked to try again with a new link.
    log.warning("consent_interrupted", error=type(error).__name__, reason=str(error))
    return pages.render_refusal(PROVIDER_AWAY, HTTPStatus.BAD_GATEWAY)


def _is_from_our_page(request: Request, settings: ConsentPageSettings) -> bool:
    """No other site may submit our form: it would connect the visitor's mailbox to somebody else's doc source.

    Browsers send the origin of every form they post; a client that sends none is no browser, and has no visitor.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    ours = {urlsplit(settings.public_url).netloc, request.headers.get("host", "")}
    return urlsplit(origin).netloc in ours


async def _read_form(request: Request) -> dict[str, str]:
    """Its last fields win over those of the address; a form that is too long has none."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM_BYTES:
            return {}
    return {**request.query_params, **dict(parse_qsl(body.decode("ascii", errors="replace")))}


class _PageRenderer:
    def __init__(self) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined
        )

    def render_page(
        self, name: str, *, status: HTTPStatus = HTTPStatus.OK, form_target: str | None = None, **facts: object
    ) -> HTMLResponse:
        nonce = secrets.token_urlsafe(16)
        html = self._templates.get_template(name).render(nonce=nonce, **facts)
        return HTMLResponse(html, status, headers=_build_headers(form_target, nonce))

    def render_refusal(self, sentence: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> HTMLResponse:
        return self.render_page("refused.html", status=status, sentence=sentence)


def _build_headers(form_target: str | None = None, nonce: str | None = None) -> dict[str, str]:
    forms = "'self'" if form_target is None else f"'self' {form_target}"
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
