"""Every call that our clients make and every answer of the sandbox, held against the providers' descriptions."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from jsonschema import Draft202012Validator
from openapi_schema_validator import OAS30Validator
from referencing import Registry
from referencing.jsonschema import DRAFT4

from mailroom_common.providers.http import open_client
from mailroom_common.providers.port import Mailbox
from mailroom_common.settings import ProviderSettings, load
from mailroom_sandbox.providers.testing import RunningProviders, running_providers

DATA = Path(__file__).parents[1] / "data"

JSON = dict[str, Any]  # Any: schemas and payloads are what is under test here


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    path: re.Pattern[str]
    method: str
    query: frozenset[str]
    request: JSON | None
    answers: dict[str, JSON | None]


class GraphContract:
    """The OpenAPI document of Graph's mail."""

    def __init__(self, document: JSON) -> None:
        self._document = document
        self._registry: Registry[Any] = Registry().with_resource("urn:graph", DRAFT4.create_resource(document))
        self.operations = list(self._operations())

    def problems(self, exchange: httpx.Response) -> list[str]:
        operation = find(self.operations, exchange, prefix="/v1.0")
        if operation is None:
            return [f"{exchange.request.method} {exchange.request.url.path} is not in the contract"]
        found = unknown_query(operation, exchange)
        if operation.request is not None:
            # The sandbox lets webhooks be http on loopback addresses; Graph does not.
            body = exchange.request.content.replace(b'"http://', b'"https://')
            found += self._errors(orjson.loads(body), operation.request)
            found += self._unknown(orjson.loads(body), "microsoft.graph.subscription")
        schema = operation.answers.get(str(exchange.status_code)) or operation.answers.get(
            f"{exchange.status_code // 100}XX"
        )
        if schema is None:
            if exchange.status_code in (200, 201) and "json" in exchange.headers["content-type"]:
                found.append(f"{operation.name}: no schema for {exchange.status_code}")
            return found
        payload = orjson.loads(exchange.content.replace(b'"http://', b'"https://'))
        return found + [f"{operation.name}: {problem}" for problem in self._errors(payload, schema)]

    def _errors(self, instance: object, schema: JSON) -> list[str]:
        validator = OAS30Validator(
            absolute(schema), registry=self._registry, format_checker=OAS30Validator.FORMAT_CHECKER
        )
        return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(instance)]

    def _unknown(self, instance: JSON, schema_name: str) -> list[str]:
        known = {"@odata.type"} | members(self._document["components"]["schemas"], schema_name)
        return [f"{name} is no member of {schema_name}" for name in instance if name not in known]

    def _operations(self) -> Iterator[Operation]:
        for template, item in self._document["paths"].items():
            for method in ("get", "post", "patch", "delete"):
                if (described := item.get(method)) is None:
                    continue
                for path in (template, *item.get("x-aliases", [])):
                    yield Operation(
                        name=described["operationId"],
                        path=as_pattern(path),
                        method=method.upper(),
                        query=self._query(described),
                        request=schema_of(described.get("requestBody")),
                        answers={
                            status: schema_of(self._at(reply)) for status, reply in described["responses"].items()
                        },
                    )

    def _query(self, described: JSON) -> frozenset[str]:
        parameters = [self._at(parameter) for parameter in described.get("parameters", [])]
        return frozenset(parameter["name"] for parameter in parameters if parameter["in"] == "query")

    def _at(self, node: JSON) -> JSON:
        if "$ref" not in node:
            return node
        found: JSON = self._document
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return found


class GmailContract:
    """Gmail's discovery document, its draft-3 schemas read as JSON Schema, and no member beyond them."""

    def __init__(self, document: JSON) -> None:
        self._schemas = {name: modern(schema) for name, schema in document["schemas"].items()}
        self._common = frozenset(document["parameters"])
        self.operations = list(self._operations(document["resources"]))

    def problems(self, exchange: httpx.Response) -> list[str]:
        operation = find(self.operations, exchange, prefix="")
        if operation is None:
            return [f"{exchange.request.method} {exchange.request.url.path} is not in the contract"]
        found = unknown_query(operation, exchange)
        if operation.request is not None and exchange.request.content:
            found += self._errors(orjson.loads(exchange.request.content), operation.request)
        schema = operation.answers["2XX"]
        if exchange.is_success and schema is not None:
            found += self._errors(orjson.loads(exchange.content), schema)
        if exchange.is_success and schema is None and exchange.content.strip() not in (b"", b"{}"):
            found.append("an answer where none is described")
        return [f"{operation.name}: {problem}" for problem in found]

    def _errors(self, instance: object, schema: JSON) -> list[str]:
        validator = Draft202012Validator({**schema, "$defs": self._schemas})
        return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(instance)]

    def _operations(self, resources: JSON) -> Iterator[Operation]:
        for resource in resources.values():
            for method in resource.get("methods", {}).values():
                parameters = method.get("parameters", {})
                in_query = {name for name, described in parameters.items() if described["location"] == "query"}
                yield Operation(
                    name=method["id"],
                    path=as_pattern(f"/{method['flatPath']}"),
                    method=method["httpMethod"],
                    query=frozenset(in_query) | self._common,
                    request=modern(method["request"]) if "request" in method else None,
                    answers={"2XX": modern(method["response"]) if "response" in method else None},
                )
            yield from self._operations(resource.get("resources", {}))


def find(operations: list[Operation], exchange: httpx.Response, *, prefix: str) -> Operation | None:
    path = exchange.request.url.raw_path.decode().partition("?")[0].removeprefix(prefix)
    fitting = [one for one in operations if one.method == exchange.request.method and one.path.fullmatch(path)]
    # `/messages/delta` also looks like `/messages/{id}`: the longest written-out template is meant.
    return max(fitting, key=lambda one: len(re.sub(r"\[\^/\]\+", "", one.path.pattern)), default=None)


def unknown_query(operation: Operation, exchange: httpx.Response) -> list[str]:
    return [f"{name} is no parameter" for name in exchange.request.url.params if name not in operation.query]


def as_pattern(template: str) -> re.Pattern[str]:
    return re.compile(
        "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^}]+\})", template))
    )


def schema_of(described: JSON | None) -> JSON | None:
    found: JSON | None = ((described or {}).get("content") or {}).get("application/json", {}).get("schema")
    return found


def absolute(schema: Any) -> Any:
    """References into the document, whichever part of it they stand in."""
    if isinstance(schema, dict):
        return {
            name: f"urn:graph{value}" if name == "$ref" and str(value).startswith("#") else absolute(value)
            for name, value in schema.items()
        }
    return [absolute(entry) for entry in schema] if isinstance(schema, list) else schema


def members(schemas: JSON, name: str) -> set[str]:
    schema = schemas[name]
    found: set[str] = set()
    for part in schema.get("allOf", [schema]):
        if "$ref" in part:
            found |= members(schemas, part["$ref"].rsplit("/", 1)[-1])
        found |= set(part.get("properties", {}))
    return found


def modern(schema: Any) -> Any:
    """Draft 3 with bare references, as discovery documents have it."""
    if isinstance(schema, list):
        return [modern(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{schema['$ref']}"}
    kept = {name: schema[name] for name in ("type", "enum") if schema.get(name) not in ("any", None)}
    if "items" in schema:
        kept["items"] = modern(schema["items"])
    if "properties" in schema:
        kept["properties"] = {name: modern(described) for name, described in schema["properties"].items()}
        kept["additionalProperties"] = False
    if schema.get("format") in ("uint64", "int64") and schema.get("type") == "string":
        kept["pattern"] = "^-?[0-9]+$"
    return kept


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

    async def bearer(self, mailbox: Mailbox, *, rejected: str | None = None) -> str:
        return self.token


@pytest.fixture(scope="session")
def graph_contract() -> GraphContract:
    return GraphContract(orjson.loads((DATA / "graph-mail.v1.0.openapi.json").read_bytes()))


@pytest.fixture(scope="session")
def gmail_contract() -> GmailContract:
    return GmailContract(orjson.loads((DATA / "gmail.v1.json").read_bytes()))


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[RunningProviders]:
    async with running_providers(tmp_path / "providers") as running:
        yield running


@pytest.fixture
def provider_settings(sandbox: RunningProviders, monkeypatch: pytest.MonkeyPatch) -> ProviderSettings:
    for name, value in sandbox.mailroom_environment().items():
        monkeypatch.setenv(name, value)
    return load(ProviderSettings)


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
