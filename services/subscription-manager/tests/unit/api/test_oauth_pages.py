"""What a browser gets on the way to a connected mailbox."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from connection_samples import PUBLIC_URL, make_connection
from consent_setup import ConsentSetup

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.process import Process
from mailroom_common.providers.types import Folder
from mailroom_common.web import build_service_app
from subscription_manager.api.oauth_pages import ConsentPageSettings, ConsentProvider, build_oauth_routes
from subscription_manager.domain.connection import ConnectionState

EVIL = "<script>alert(1)</script>"


class Pages:
    def __init__(self, tenant_id: str = "acme") -> None:
        pending = make_connection(
            state=ConnectionState.PENDING,
            address=None,
            provider_user_id=None,
            tenant_id=tenant_id,
        )
        self.id = pending.id
        self.setup = ConsentSetup(pending)
        self.connections = self.setup.connections
        self.provider = self.setup.provider
        settings = ConsentPageSettings(
            PUBLIC_URL, {"outlook": ConsentProvider("Outlook", "https://login.example")}, flow_lifetime_s=600
        )
        app = build_service_app(Process("test"), title="test")
        app.include_router(build_oauth_routes(self.setup.connect, settings))
        self.browser = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PUBLIC_URL)

    async def build_link(self) -> str:
        return f"/oauth/outlook/authorize?ticket={await self.setup.create.issue_ticket(self.id)}"

    async def press_button(self, link: str, **headers: str) -> httpx.Response:
        path, _, query = link.partition("?ticket=")
        return await self.browser.post(path, data={"ticket": query}, headers=headers)

    async def send_browser(self) -> dict[str, str]:
        """The parameters that the browser takes to the provider."""
        answer = await self.press_button(await self.build_link())
        assert answer.status_code == 303
        return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    pages = Pages()
    async with pages.browser:
        yield pages


def policy_of(answer: httpx.Response) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in answer.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in parts}


async def test_page_names_tenant_and_purpose_and_has_one_button(pages: Pages) -> None:
    page = await pages.browser.get(await pages.build_link())
    assert page.status_code == 200
    assert "acme" in page.text
    assert "file the invoices" in page.text
    assert page.text.count("<button") == page.text.count("<form") == 1
    assert re.search(r'<form method="post" action="/oauth/outlook/authorize">', page.text)
    assert "<script" not in page.text


async def test_page_says_from_when_on_and_that_all_but_drafts_is_read(pages: Pages) -> None:
    page = await pages.browser.get(await pages.build_link())
    assert "Mail received from the moment of your consent on" in page.text
    assert "In the whole mailbox but drafts, sent, deleted and junk mail" in page.text


async def test_page_says_from_which_day_and_which_folders(pages: Pages) -> None:
    started_at = datetime(2025, 3, 1, 8, 5, tzinfo=UTC)
    pages.connections.rows[pages.id] = replace(
        pages.connections.rows[pages.id], start_at=started_at, folders=("Inbox/Invoices", EVIL)
    )
    page = await pages.browser.get(await pages.build_link())
    assert "<strong>1 March 2025, 08:05 UTC</strong>" in page.text
    assert "In these folders only: <strong>Inbox/Invoices</strong>" in page.text
    assert EVIL not in page.text


async def test_button_of_a_page_that_said_something_else_is_refused_and_uses_nothing_up(pages: Pages) -> None:
    link = await pages.build_link()
    scope = re.search(r'name="scope" value="([^"]+)"', (await pages.browser.get(link)).text)
    assert scope is not None
    form = {"ticket": link.partition("?ticket=")[2], "scope": scope[1]}
    await pages.setup.change.correct_doc_source("acme", pages.id, address=None, folders=("Inbox",))
    refused = await pages.browser.post("/oauth/outlook/authorize", data=form)
    assert (refused.status_code, "has changed" in refused.text) == (400, True)
    await pages.setup.change.correct_doc_source("acme", pages.id, address=None, folders=())
    assert (await pages.browser.post("/oauth/outlook/authorize", data=form)).status_code == 303


async def test_page_lets_nothing_run_and_forms_go_here_and_to_the_provider_only(pages: Pages) -> None:
    page = await pages.browser.get(await pages.build_link())
    policy = policy_of(page)
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self' https://login.example"
    nonce = re.search(r'<style nonce="([^"]+)">', page.text)
    assert nonce is not None
    assert policy["style-src"] == f"'nonce-{nonce[1]}'"
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "same-origin"


async def test_untrusted_input_is_escaped() -> None:
    pages = Pages(tenant_id=EVIL)
    async with pages.browser:
        page = await pages.browser.get(await pages.build_link())
        assert page.status_code == 200
        assert EVIL not in page.text
        assert "&lt;script&gt;" in page.text


async def test_ticket_of_a_link_is_never_echoed_unescaped(pages: Pages) -> None:
    page = await pages.browser.get("/oauth/outlook/authorize", params={"ticket": EVIL})
    assert page.status_code == 400
    assert EVIL not in page.text


async def test_button_binds_the_browser_by_a_cookie_that_scripts_and_others_cannot_have(pages: Pages) -> None:
    answer = await pages.press_button(await pages.build_link())
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("https://login.example/authorize?")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-mailroom-connect-")
    for attribute in ("HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=600"):
        assert attribute.lower() in cookie.lower()


async def test_whole_way_ends_on_a_page_that_names_the_mailbox(pages: Pages) -> None:
    sent = await pages.send_browser()
    done = await pages.browser.get("/oauth/outlook/callback", params={"state": sent["state"], "code": "c"})
    assert done.status_code == 200
    assert "ada@contoso.example" in done.text
    assert pages.connections.only_row().state is ConnectionState.ACTIVE


async def test_callback_without_the_cookie_is_refused_readably(pages: Pages) -> None:
    sent = await pages.send_browser()
    pages.browser.cookies.clear()
    refused = await pages.browser.get("/oauth/outlook/callback", params={"state": sent["state"], "code": "c"})
    assert refused.status_code == 400
    assert refused.headers["content-type"].startswith("text/html")
    assert "another browser" in refused.text
    assert pages.connections.only_row().state is ConnectionState.PENDING


async def test_wrong_state_is_refused_readably(pages: Pages) -> None:
    await pages.send_browser()
    refused = await pages.browser.get("/oauth/outlook/callback", params={"state": "guess", "code": "c"})
    assert refused.status_code == 400
    assert "This did not work" in refused.text


async def test_error_of_the_provider_counts_before_a_code_and_is_not_echoed(pages: Pages) -> None:
    sent = await pages.send_browser()
    answer = {"state": sent["state"], "code": "c", "error": "access_denied", "error_description": EVIL}
    refused = await pages.browser.get("/oauth/outlook/callback", params=answer)
    assert refused.status_code == 400
    assert "did not give access" in refused.text
    assert "script" not in refused.text
    assert pages.provider.exchanged == []


async def test_two_links_side_by_side_do_not_disturb_each_other(pages: Pages) -> None:
    first, second = await pages.send_browser(), await pages.send_browser()
    for sent in (first, second):
        done = await pages.browser.get("/oauth/outlook/callback", params={"state": sent["state"], "code": "c"})
        assert done.status_code == 200


async def test_link_that_was_used_says_so(pages: Pages) -> None:
    link = await pages.build_link()
    await pages.press_button(link)
    for answer in (await pages.browser.get(link), await pages.press_button(link)):
        assert answer.status_code == 400
        assert "used already" in answer.text


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
async def test_no_other_page_can_press_our_button(pages: Pages, headers: dict[str, str]) -> None:
    link = await pages.build_link()
    assert (await pages.press_button(link, **headers)).status_code == 403
    assert (await pages.press_button(link, origin=PUBLIC_URL)).status_code == 303


async def test_form_that_is_too_long_is_refused(pages: Pages) -> None:
    answer = await pages.browser.post("/oauth/outlook/authorize", data={"ticket": "x" * 100_000})
    assert answer.status_code == 400


async def test_provider_that_is_away_is_a_readable_page(pages: Pages) -> None:
    pages.provider.errors["exchange"] = ProviderUnavailable("canary-detail")
    sent = await pages.send_browser()
    answer = await pages.browser.get("/oauth/outlook/callback", params={"state": sent["state"], "code": "c"})
    assert answer.status_code == 502
    assert "could not be reached" in answer.text
    assert "canary" not in answer.text


async def test_folder_that_is_not_there_is_named_on_the_page_and_nothing_is_connected() -> None:
    pages = Pages()
    row = pages.connections.rows[pages.id]
    pages.connections.rows[pages.id] = replace(row, folders=("inbox", f"Invocies{EVIL}"))
    pages.provider.folders = [Folder("f1", "Inbox", "inbox")]
    async with pages.browser:
        sent = await pages.send_browser()
        refused = await pages.browser.get("/oauth/outlook/callback", params={"state": sent["state"], "code": "c"})
    assert refused.status_code == 400
    assert "no folder or label named Invocies" in refused.text
    assert EVIL not in refused.text
    assert pages.connections.only_row().state is ConnectionState.PENDING


@pytest.mark.parametrize("path", ["authorize", "callback"])
async def test_unknown_provider_is_a_readable_page_that_names_the_known_ones(pages: Pages, path: str) -> None:
    refused = await pages.browser.get(f"/oauth/yahoo/{path}", params={"ticket": "t", "state": "s", "code": "c"})
    assert refused.status_code == 400
    assert "Known are: outlook" in refused.text
    assert "yahoo" not in refused.text
