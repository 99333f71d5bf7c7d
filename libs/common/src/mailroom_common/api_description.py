"""What FastAPI's own OpenAPI description of a service lacks: API keys, and errors as problem documents."""

from typing import Any

_SECURITY_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "`Authorization: Bearer KEY`; a key belongs to one tenant and has a role.",
}
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457: what was wrong, and where it helps what to do.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status"],
    "examples": [{"type": "about:blank", "title": "There is no such doc source", "status": 404}],
}
_PROBLEM_ANSWER = {
    "description": "400: a parameter or id is wrong; 401: the key; 403: its role; 409: the state; 422: the content",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
# What FastAPI says a refused request looks like; ours are problem documents.
_FOREIGN_SCHEMAS = ("HTTPValidationError", "ValidationError")


def complete_description(description: dict[str, Any]) -> dict[str, Any]:  # Any: an OpenAPI document
    """The description, changed in place."""
    components = description.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in _FOREIGN_SCHEMAS:
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    components["securitySchemes"] = {"key": _SECURITY_SCHEME}
    description["security"] = [{"key": []}]
    for operations in description["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["4XX"] = _PROBLEM_ANSWER
    return description
