"""An OpenAPI description as one HTML page, which fetches nothing from elsewhere and runs no script."""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mailroom_sandbox.api_docs.merge import Description

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

_METHODS = ("get", "post", "put", "patch", "delete")
_DEEPEST_EXAMPLE = 6
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


@dataclass(frozen=True, slots=True)
class APICall:
    """One call as the page shows it. `request` and `response` are examples as JSON text."""

    method: str
    path: str
    summary: str
    description: str
    parameters: list[dict[str, str]]
    request: str | None
    response: str | None
    curl: str


def render_page(description: Description, *, url: str, needs_key: bool = True) -> str:
    """`url` is where the API is, for the examples."""
    groups: dict[str, list[APICall]] = defaultdict(list)
    for path, operations in description["paths"].items():
        for method in (method for method in _METHODS if method in operations):
            tag = (operations[method].get("tags") or ["Calls"])[0]
            groups[tag].append(_build_operation(description, url, method, path, needs_key=needs_key))
    return _templates.get_template("page.html").render(
        title=description["info"]["title"], groups=dict(groups), url=url, needs_key=needs_key
    )


def _build_operation(description: Description, url: str, method: str, path: str, *, needs_key: bool) -> APICall:
    operation = description["paths"][path][method]
    request = _find_example(description, operation.get("requestBody") or {})
    answers = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
    response = _find_example(description, answers[0]) if answers else None
    key = " -H 'Authorization: Bearer KEY'" if needs_key else ""
    verb = "" if method == "get" else f" -X {method.upper()}"
    body = "" if request is None else f" --json '{json.dumps(request)}'"
    return APICall(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        parameters=[_build_parameter(description, parameter) for parameter in operation.get("parameters", [])],
        request=_format_json(request),
        response=_format_json(response),
        curl=f"curl{verb}{key} '{url}{path}'{body}",
    )


def _build_parameter(description: Description, parameter: dict[str, Any]) -> dict[str, str]:
    schema = _resolve(description, parameter.get("schema", {}))
    kinds = [_resolve(description, kind) for kind in schema.get("anyOf", [schema])]
    values = [str(value) for kind in kinds for value in kind.get("enum", [])]
    types = [str(kind.get("format") or kind.get("type", "")) for kind in kinds if kind.get("type") != "null"]
    return {
        "name": parameter["name"],
        "where": parameter["in"] + (", required" if parameter.get("required") else ""),
        "type": " | ".join(values or types),
        "default": "" if schema.get("default") is None else str(schema["default"]),
        "meaning": parameter.get("description") or schema.get("description") or "",
    }


def _find_example(description: Description, content: dict[str, Any]) -> Any:  # Any: JSON
    body = content.get("content", {}).get("application/json")
    if body is None:
        return None
    return body["example"] if "example" in body else build_example(description, body.get("schema", {}))


def build_example(description: Description, schema: dict[str, Any], depth: int = 0) -> Any:  # Any: JSON
    """The example that the schema names, else one made of its fields."""
    schema = _resolve(description, schema)
    for known in ("example", "default", "const"):
        if schema.get(known) is not None:
            return schema[known]
    for choices in ("examples", "enum"):
        if schema.get(choices):
            return schema[choices][0]
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return build_example(description, kinds[0], depth)
    if depth > _DEEPEST_EXAMPLE:
        return None
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: build_example(description, field, depth + 1) for name, field in fields.items()}
    if schema.get("type") == "array":
        return [build_example(description, schema.get("items", {}), depth + 1)]
    if schema.get("format") == "date-time":
        return "2026-11-28T12:00:00Z"
    return {"string": "…", "integer": 1, "number": 1.0, "boolean": True}.get(schema.get("type", ""))


def _resolve(description: Description, schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found: dict[str, Any] = description["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _format_json(value: Any) -> str | None:  # Any: JSON
    return None if value is None else json.dumps(value, indent=2, ensure_ascii=False)
