import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mailroom_common.errors import Rejected
from mailroom_sandbox.site.demo.browser import Browser
from mailroom_sandbox.site.reverse_proxy.listener import listen_on_port
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.ports import free_port

FIRST = """<style>b{}</style><h1>Connect</h1><form method=post action="/go">
<input type=hidden name=ticket value="a&amp;b">
<button>Go on</button></form><form action="/other"><input name=never value=1></form>"""
CONSENT = """<form method="post" action=""><input type=radio name=account value=one checked>
<input type=radio name=account value=two>
<input type=checkbox name=scope value=read checked><input type=checkbox name=scope value=send>
<button name=decision value=accept>Accept</button><button name=decision value=decline>Decline</button></form>"""


async def first(_: Request) -> Response:
    answer = HTMLResponse(FIRST)
    answer.set_cookie("bound", "1", secure=True, httponly=True)
    return answer


async def go(request: Request) -> Response:
    form = (await request.body()).decode()
    if form != "ticket=a%26b" or request.cookies.get("bound") != "1":
        return HTMLResponse("<p>not the browser that began</p>", status_code=400)
    return RedirectResponse("/consent?state=s", status_code=303)


async def consent(request: Request) -> Response:
    if request.method == "GET":
        return HTMLResponse(CONSENT)
    return HTMLResponse(f"<p>{request.url.query} {(await request.body()).decode()}</p>")


@pytest.fixture
async def pages(tmp_path: Path) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    both = ["GET", "POST"]
    routes = [Route("/", first), Route("/go", go, methods=both), Route("/consent", consent, methods=both)]
    certificates = ca.load_or_create_certificates(tmp_path)
    port = free_port()
    async with listen_on_port(Starlette(routes=routes), port=port, tls=certificates.build_server_ssl_context()):
        yield f"https://127.0.0.1:{port}", certificates.client_context()


async def test_browser_goes_from_ticket_to_consent_with_its_cookie(pages: tuple[str, ssl.SSLContext]) -> None:
    url, trusted = pages
    async with Browser(trusted) as browser:
        page = await browser.open_page(url)
        assert page.text == "Connect Go on"
        page = await browser.submit_form(page)
        assert page.url == f"{url}/consent?state=s"
        page = await browser.submit_form(page, account="two")
        assert page.text == "state=s account=two&scope=read&decision=accept"


async def test_error_page_ends_with_what_it_says(pages: tuple[str, ssl.SSLContext]) -> None:
    url, trusted = pages
    async with Browser(trusted) as browser:
        page = await browser.open_page(url)
        with pytest.raises(Rejected, match=r"POST .*/go answers 400: not the browser that began"):
            await browser.submit_form(page, ticket="forged")


async def test_page_without_a_form_cannot_be_sent(pages: tuple[str, ssl.SSLContext]) -> None:
    url, trusted = pages
    async with Browser(trusted) as browser:
        last = await browser.submit_form(await browser.submit_form(await browser.open_page(url)))
        with pytest.raises(Rejected, match="no form"):
            await browser.submit_form(last)
