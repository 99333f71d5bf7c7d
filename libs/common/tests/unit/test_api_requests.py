from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, Depends, Query

from mailroom_common.api_requests import DocSourceFilter, refuse_unknown_parameters
from mailroom_common.process import Process
from mailroom_common.web import build_service_app


async def _page(limit: int = 5) -> int:
    return limit


@pytest.fixture
def client() -> httpx.AsyncClient:
    routes = APIRouter(dependencies=[Depends(refuse_unknown_parameters)])

    @routes.get("/mails")
    async def list_mails(
        page: Annotated[int, Depends(_page)],
        doc_source_id: DocSourceFilter = None,
        sender: Annotated[str | None, Query(alias="from")] = None,
    ) -> dict[str, object]:
        return {"page": page, "doc_source_id": doc_source_id, "from": sender}

    @routes.post("/mails")
    async def send_mail() -> dict[str, str]:
        return {}

    app = build_service_app(Process("test"), title="test")
    app.include_router(routes)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")


async def test_unknown_parameter_is_400_and_named_with_those_that_there_are(client: httpx.AsyncClient) -> None:
    answer = await client.get("/mails", params={"docsource": "x", "limit": "1"})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.json()["parameters"] == ["docsource"]
    assert "'docsource' is no parameter of this call. It takes doc_source_id, from, limit." in answer.json()["detail"]


async def test_parameter_that_is_given_twice_is_400_and_neither_value_is_passed_over(client: httpx.AsyncClient) -> None:
    answer = await client.get("/mails?from=a&limit=1&from=b")
    assert (answer.status_code, answer.json()["parameters"]) == (400, ["from"])
    assert answer.json()["detail"] == "from: one value is needed. Ask once for each."


async def test_call_without_parameters_takes_none(client: httpx.AsyncClient) -> None:
    answer = await client.post("/mails?force=1")
    assert (answer.status_code, answer.json()["parameters"]) == (400, ["force"])


async def test_known_parameters_pass_those_of_dependencies_and_aliases_too(client: httpx.AsyncClient) -> None:
    answer = await client.get("/mails", params={"limit": "1", "from": "a"})
    assert answer.json() == {"page": 1, "doc_source_id": None, "from": "a"}


async def test_filter_by_a_malformed_id_is_400(client: httpx.AsyncClient) -> None:
    answer = await client.get("/mails", params={"doc_source_id": "nonsense"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "doc_source_id: a UUID is needed.")
