"""Every call that our clients make and every answer that they get, held against the providers' descriptions.

Which operation a call is, and whether its query exists, is found here; bodies are checked as the sandbox's own are.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from provider_client_fixtures import provider_settings, sandbox

from mailroom_common.providers.http import open_client
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings
from mailroom_sandbox.testkit import contracts

__all__ = ["provider_settings", "sandbox"]

DATA = Path(__file__).parents[1] / "data"

JSON = dict[str, Any]  # Any: contracts and payloads are what is under test here


@dataclass(frozen=True, slots=True)
class Operation:
    """`check_request` and `check_answer` raise ContractBroken; None where the contract describes no body."""

    path: re.Pattern[str]
    method: str
    query: frozenset[str]
    check_request: Callable[[JSON], None] | None
    check_answer: Callable[[JSON], None] | None


class Contract:
    def __init__(self, operations: Iterator[Operation], *, prefix: str, check_error: Callable[[JSON], None]) -> None:
        self._operations = list(operations)
        self._prefix = prefix
        self._check_error = check_error

    def problems(self, exchange: httpx.Response) -> list[str]:
        """What of a call and its answer is not in the contract, as sentences."""
        path = exchange.request.url.raw_path.decode().partition("?")[0].removeprefix(self._prefix)
        operation = self._find(exchange.request.method, path)
        if operation is None:
            return [f"{exchange.request.method} {path} is not in the contract"]
        found = [f"{name} is no parameter" for name in exchange.request.url.params if name not in operation.query]
        if exchange.request.content:
            found += _broken(operation.check_request, exchange.request.content)
        if not exchange.is_success:
            found += _broken(self._check_error, exchange.content)
        elif "json" in exchange.headers.get("content-type", ""):
            found += _broken(operation.check_answer, exchange.content)
        elif operation.check_answer is not None:
            found.append("an answer that is no JSON")
        return [f"{exchange.request.method} {operation.path.pattern}: {problem}" for problem in found]

    def _find(self, method: str, path: str) -> Operation | None:
        fitting = [one for one in self._operations if one.method == method and one.path.fullmatch(path)]
        # `/messages/delta` also looks like `/messages/{id}`: the longest written-out template is meant.
        return max(fitting, key=lambda one: len(one.path.pattern.replace("[^/]+", "")), default=None)


def _broken(check: Callable[[JSON], None] | None, content: bytes) -> list[str]:
    if check is None:
        return ["a body where none is described"]
    try:
        # The sandbox lets webhooks be http on loopback addresses; Graph does not.
        check(orjson.loads(content.replace(b'"http://', b'"https://')))
    except contracts.ContractBroken as broken:
        return [str(broken)]
    return []


def graph_operations(document: JSON) -> Iterator[Operation]:
    for template, item in document["paths"].items():
        for method in ("get", "post", "patch", "delete"):
            if (described := item.get(method)) is None:
                continue
            for path in (template, *item.get("x-aliases", [])):
                yield Operation(
                    path=as_pattern(path),
                    method=method.upper(),
                    query=frozenset(graph_query(document, described)),
                    check_request=graph_request(described),
                    check_answer=graph_answer(method, template, described),
                )


def graph_query(document: JSON, described: JSON) -> Iterator[str]:
    for reference in described.get("parameters", []):
        parameter = document["components"]["parameters"][reference["$ref"].rsplit("/", 1)[-1]]
        if parameter["in"] == "query":
            yield parameter["name"]


def graph_request(described: JSON) -> Callable[[JSON], None] | None:
    if "requestBody" not in described:
        return None
    reference = described["requestBody"]["content"]["application/json"]["schema"].get("$ref", "")
    schema = reference.rsplit("/", 1)[-1].removeprefix("microsoft.graph.")
    return lambda body: contracts.check_graph_body(schema, body, complete=False)


def graph_answer(method: str, template: str, described: JSON) -> Callable[[JSON], None] | None:
    good = next(answer for status, answer in described["responses"].items() if status.startswith("2"))
    if "application/json" not in good.get("content", {}):
        return None
    return lambda body: contracts.check_graph_response_body(method, template, body)


def graph_error(body: JSON) -> None:
    contracts.check_graph_body("ODataErrors.ODataError", body, complete=False)


def gmail_operations(document: JSON, resources: JSON) -> Iterator[Operation]:
    for resource in resources.values():
        for method in resource.get("methods", {}).values():
            parameters = method.get("parameters", {})
            in_query = {name for name, described in parameters.items() if described["location"] == "query"}
            yield Operation(
                path=as_pattern(f"/{method['flatPath']}"),
                method=method["httpMethod"],
                query=frozenset({*in_query, *document["parameters"]}),
                check_request=gmail_schema(method.get("request")),
                check_answer=gmail_schema(method.get("response")),
            )
        yield from gmail_operations(document, resource.get("resources", {}))


def gmail_schema(reference: JSON | None) -> Callable[[JSON], None] | None:
    if reference is None:
        return None
    name = reference["$ref"]
    return lambda body: contracts.check_gmail_body(name, body)


def gmail_error(body: JSON) -> None:
    """Not in the discovery document; providers/gmail.md 11 has the shape."""
    contracts.require_members(body["error"], {"code", "message"})


def as_pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]+\})", template)
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts))


@dataclass
class Recorder:
    """Keeps each exchange with its whole body; the client that made it reads the body all the same."""

    exchanges: list[httpx.Response] = field(default_factory=list)

    async def __call__(self, response: httpx.Response) -> None:
        await response.aread()
        self.exchanges.append(response)


@dataclass
class OneToken:
    token: str

    async def get_access_token(self, mailbox: Mailbox, *, rejected: str | None = None) -> str:
        return self.token


@pytest.fixture(scope="session")
def graph_contract() -> Contract:
    document = orjson.loads((DATA / "graph-mail.v1.0.openapi.json").read_bytes())
    return Contract(graph_operations(document), prefix="/v1.0", check_error=graph_error)


@pytest.fixture(scope="session")
def gmail_contract() -> Contract:
    document = orjson.loads((DATA / "gmail.v1.json").read_bytes())
    return Contract(gmail_operations(document, document["resources"]), prefix="", check_error=gmail_error)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def http(provider_settings: ProviderSettings, recorder: Recorder) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(provider_settings, timeout_s=10) as client:
        client.event_hooks = {"response": [recorder]}
        yield client


@pytest.fixture
def one_token() -> type[OneToken]:
    return OneToken
