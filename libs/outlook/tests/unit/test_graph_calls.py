from dataclasses import replace
from typing import Any

import httpx
import pytest

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.providers.calls import ProviderCall, ProviderCalls
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox
from mailroom_outlook import graph_calls
from mailroom_outlook.graph_calls import build_user_path, follow_pages, open_graph_calls

BASE = BaseURL("https://graph.example/v1.0")


@pytest.fixture
def calls(http: httpx.AsyncClient, tokens: Any) -> ProviderCalls:
    return open_graph_calls(http, BASE, tokens, Quota(slots=4))


async def read_pages(calls: ProviderCalls, mailbox: Mailbox) -> list[Any]:
    call = ProviderCall(name="list", path="/items", headers={"Prefer": "size"})
    return [page async for page in follow_pages(calls, BASE, mailbox, call)]


async def test_a_list_is_followed_to_its_end_with_the_same_headers(
    calls: ProviderCalls, wire: Any, outlook: Mailbox
) -> None:
    first = {"value": [1], "@odata.nextLink": "https://graph.example/v1.0/items?$skiptoken=a"}
    wire.plays(httpx.Response(200, json=first), httpx.Response(200, json={"value": [2]}))
    assert [page["value"] for page in await read_pages(calls, outlook)] == [[1], [2]]
    assert [str(one.url) for one in wire.requests][1].endswith("/v1.0/items?$skiptoken=a")
    assert [one.headers["Prefer"] for one in wire.requests] == ["size", "size"]


async def test_a_link_to_another_host_is_not_followed(calls: ProviderCalls, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(200, json={"value": [], "@odata.nextLink": "https://elsewhere.example/v1.0/items"}))
    with pytest.raises(ProviderUnavailable):
        await read_pages(calls, outlook)
    assert len(wire.requests) == 1


async def test_a_list_that_leads_back_is_not_read_for_ever(calls: ProviderCalls, wire: Any, outlook: Mailbox) -> None:
    there, back = (
        httpx.Response(200, json={"value": [], "@odata.nextLink": f"https://graph.example/v1.0/items?$skip={page}"})
        for page in "ab"
    )
    wire.plays(there, back, there, back)
    with pytest.raises(ProviderUnavailable):
        await read_pages(calls, outlook)
    assert len(wire.requests) == 3


async def test_a_list_that_always_has_another_page_is_not_read_for_ever(
    calls: ProviderCalls, wire: Any, outlook: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_calls, "MAX_LINKS", 3)
    links = (f"https://graph.example/v1.0/items?$skip={page}" for page in range(10))
    wire.plays(*(httpx.Response(200, json={"value": [], "@odata.nextLink": link}) for link in links))
    with pytest.raises(ProviderUnavailable):
        await read_pages(calls, outlook)
    assert len(wire.requests) == 4


async def test_ids_are_immutable_unless_a_call_says_more(calls: ProviderCalls, wire: Any, outlook: Mailbox) -> None:
    wire.plays(httpx.Response(200, json={}))
    await calls.fetch_json(outlook, ProviderCall(name="list", path="/items"))
    assert wire.requests[0].headers["Prefer"] == 'IdType="ImmutableId"'


def test_a_user_is_named_by_the_id_where_it_is_known(outlook: Mailbox) -> None:
    assert build_user_path(outlook) == "/users/user-1"
    assert build_user_path(replace(outlook, provider_user_id=None, address="a/b@x.example")) == "/users/a%2Fb@x.example"
