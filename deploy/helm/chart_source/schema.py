"""`values.schema.json`: the models' schema, with the settings that each component knows."""

import json
from typing import Any

from chart_source.components import COMPONENTS, Component
from chart_source.values import ChartValues
from chart_source.variables import list_further_settings

Schema = dict[str, Any]  # Any: JSON


def render_schema() -> str:
    schema = ChartValues.model_json_schema(by_alias=True, mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    components = schema["$defs"]["ComponentsValues"]["properties"]
    for component in COMPONENTS:
        components[component.key] = _narrow_settings(component, components[component.key])
    _tidy(schema)
    return json.dumps(schema, indent=1) + "\n"


def _narrow_settings(component: Component, schema: Schema) -> Schema:
    known = {name: _describe_setting(component, name) for name in list_further_settings(component)}
    settings = {"properties": {"settings": {"type": "object", "properties": known, "additionalProperties": False}}}
    return {"description": schema["description"], "allOf": [{"$ref": schema["$ref"]}, settings]}


def _describe_setting(component: Component, variable: str) -> Schema:
    kind = component.variables()[variable].annotation
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds[kind]} if kind in kinds else {"type": ["string", "number", "boolean", "object", "array"]}


def _tidy(node: Any) -> None:  # Any: JSON
    """Without generated titles and defaults of whole blocks; a key is never required: the chart has its default."""
    if isinstance(node, list):
        for item in node:
            _tidy(item)
    elif isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        if isinstance(node.get("required"), list):
            del node["required"]
        if isinstance(node.get("default"), dict) and ("$ref" in node or "allOf" in node):
            del node["default"]
        for value in node.values():
            _tidy(value)
