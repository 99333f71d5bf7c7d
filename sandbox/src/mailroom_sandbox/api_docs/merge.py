"""Several services' OpenAPI descriptions as one, as their callers see them behind one address."""

import json
from collections.abc import Mapping
from typing import Any

_SCHEMAS = "#/components/schemas/"

Description = dict[str, Any]  # an OpenAPI document


def merge_descriptions(descriptions: Mapping[str, Description], *, title: str) -> Description:
    """By the name of the service. Two schemas of one name that differ are told apart by the names of their services."""
    merged: Description = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "paths": {},
        "components": {"schemas": {}, "securitySchemes": {}},
        "security": [],
    }
    schemas = merged["components"]["schemas"]
    for service, description in descriptions.items():
        own = _rename_schemas(description, schemas, service)
        merged["openapi"] = own.get("openapi", merged["openapi"])
        merged["paths"] |= own["paths"]
        schemas |= own.get("components", {}).get("schemas", {})
        merged["components"]["securitySchemes"] |= own.get("components", {}).get("securitySchemes", {})
        merged["security"] = own.get("security", merged["security"])
    return merged


def _rename_schemas(description: Description, taken: Mapping[str, Any], service: str) -> Description:
    own = description.get("components", {}).get("schemas", {})
    renamed = {name: f"{service}_{name}" for name, schema in own.items() if name in taken and taken[name] != schema}
    if not renamed:
        return description
    text = json.dumps(description)
    for name, new in renamed.items():
        text = text.replace(f'"{_SCHEMAS}{name}"', f'"{_SCHEMAS}{new}"')
    copy: Description = json.loads(text)
    copy["components"]["schemas"] = {renamed.get(n, n): s for n, s in copy["components"]["schemas"].items()}
    return copy
