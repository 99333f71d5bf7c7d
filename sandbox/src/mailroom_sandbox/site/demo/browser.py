"""A person at a browser, as far as consent pages need one: follows links and redirects, keeps cookies, sends forms."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import TracebackType
from typing import Any
from urllib.parse import urljoin

import httpx

from mailroom_common.errors import Rejected, Unavailable
from mailroom_sandbox.site.demo.api import refuse_errors


@dataclass(slots=True)
class Form:
    """What a click on the form's first button sends; `action` is relative to the page."""

    action: str = ""
    method: str = "get"
    fields: dict[str, list[str]] = field(default_factory=dict)
    _has_button: bool = False

    def add_field(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        name, value, kind = attributes.get("name"), attributes.get("value") or "", attributes.get("type") or "text"
        if tag == "button":
            pressed, self._has_button = not self._has_button, True
            if not pressed:
                return
        elif kind in {"radio", "checkbox"} and "checked" not in attributes:
            return
        if name:
            self.fields.setdefault(name, []).append(value)


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    text: str
    form: Form | None


class Browser:
    """`trusted` decides whose certificates are good; nothing of the environment's proxies is used."""

    def __init__(self, trusted: ssl.SSLContext) -> None:
        self._http = httpx.AsyncClient(verify=trusted, trust_env=False, follow_redirects=True, timeout=30)

    async def __aenter__(self) -> "Browser":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def open_page(self, url: str) -> Page:
        return await self._load_page("GET", url)

    async def submit_form(self, page: Page, **changed: str) -> Page:
        """Presses the first button of the page's form, with `changed` fields filled in otherwise."""
        if page.form is None:
            raise Rejected(f"no form to send on {page.url.split('?')[0]}: {page.text[:300]}")
        fields = {**page.form.fields, **{name: [value] for name, value in changed.items()}}
        target = urljoin(page.url, page.form.action) if page.form.action else page.url
        if page.form.method == "post":
            return await self._load_page("POST", target, data=fields)
        return await self._load_page("GET", target, params=fields)

    async def _load_page(self, method: str, url: str, **options: Any) -> Page:  # Any: httpx's own options
        try:
            return _parse_page(await self._http.request(method, url, **options))
        except httpx.TransportError as error:
            raise Unavailable(f"{method} {url.split('?')[0]}: {type(error).__name__}") from error


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.first: Form | None = None
        self.words: list[str] = []
        self._open = False
        self._silent = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._silent = tag in {"style", "script"}
        if tag == "form" and self.first is None:
            self.first = Form(attributes.get("action") or "", (attributes.get("method") or "get").lower())
            self._open = True
        elif tag in {"input", "button"} and self._open and self.first is not None:
            self.first.add_field(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        if tag == "form":
            self._open = False

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._silent:
            self.words.append(data.strip())


def _parse_page(answer: httpx.Response) -> Page:
    parser = _Forms()
    parser.feed(answer.text)
    words = " ".join(parser.words)
    refuse_errors(answer, said=words)
    return Page(str(answer.url), words, parser.first)
