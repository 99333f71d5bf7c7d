"""The pages on which a person chooses an account and agrees. Plain HTML forms, so that a script can fill them too."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import urlencode, urlsplit, urlunsplit

from starlette.responses import HTMLResponse, RedirectResponse, Response

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px system-ui;max-width:32rem;margin:3rem auto}}button{{font:inherit;padding:.4rem 1rem}}</style>
</head><body><h1>{title}</h1>{body}</body></html>"""


def build_consent_page(
    *,
    brand: str,
    accounts: Sequence[str],
    preselected: str | None,
    scopes: Sequence[str],
    parameters: Mapping[str, str],
    scopes_can_be_unticked: bool,
) -> Response:
    """Posts back to its own address: `parameters`, `account`, `decision` (`accept` or `decline`), `scope_allowed`."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in parameters.items()
    )
    chosen = preselected or (accounts[0] if accounts else None)
    radios = "".join(
        f'<p><label><input type="radio" name="account" value="{escape(account)}"'
        f"{' checked' if account == chosen else ''}> {escape(account)}</label></p>"
        for account in accounts
    )
    requested_scopes = "".join(
        f'<li><label><input type="checkbox" name="scope_allowed" value="{escape(scope)}" checked> {escape(scope)}'
        "</label></li>"
        if scopes_can_be_unticked
        else f"<li>{escape(scope)}</li>"
        for scope in scopes
    )
    body = (
        f'<form method="post" action="">{hidden}<h2>Account</h2>{radios or "<p>No mailbox here yet.</p>"}'
        f"<h2>Mailroom asks for</h2><ul>{requested_scopes}</ul>"
        '<button name="decision" value="accept">Accept</button> '
        '<button name="decision" value="decline">Decline</button></form>'
    )
    return HTMLResponse(_PAGE.format(title=f"{escape(brand)}: sign in", body=body))


def build_error_page(brand: str, text: str, status: int = 400) -> Response:
    """Shown instead of a redirect where the redirect address itself cannot be trusted."""
    return HTMLResponse(_PAGE.format(title=escape(brand), body=f"<p>{escape(text)}</p>"), status_code=status)


def answer_by_redirect(redirect_uri: str, answer: Mapping[str, str], response_mode: str = "query") -> Response:
    if response_mode == "form_post":
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in answer.items()
        )
        form = f'<form method="post" action="{escape(redirect_uri)}">{fields}<button>Continue</button></form>'
        return HTMLResponse(_PAGE.format(title="Continue", body=form))
    parts = urlsplit(redirect_uri)
    if response_mode == "fragment":
        return RedirectResponse(urlunsplit(parts._replace(fragment=urlencode(answer))), status_code=302)
    query = "&".join(filter(None, [parts.query, urlencode(answer)]))
    return RedirectResponse(urlunsplit(parts._replace(query=query)), status_code=302)


def proves_challenge(challenge: str | None, method: str | None, verifier: str | None) -> bool:
    """PKCE (RFC 7636). A challenge without a method is plain text; a verifier without a challenge proves nothing."""
    if challenge is None:
        return verifier is None
    if verifier is None:
        return False
    if (method or "plain").lower() == "s256":
        verifier = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(challenge.encode(), verifier.encode())
