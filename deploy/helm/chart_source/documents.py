"""`values.yaml` with a comment on every key, and the chart's README."""

import json
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from chart_source import CHART
from chart_source.components import COMPONENTS
from chart_source.pod_values import ComponentValues
from chart_source.values import ChartValues
from chart_source.variables import list_further_settings

_WIDTH = 120


def render_values() -> str:
    head = "# Generated from chart_source/values.py by `make chart`; values.schema.json refuses every other key.\n"
    return head + "".join(_render_block(ChartValues(), depth=0))


def _render_block(values: BaseModel, *, depth: int) -> Iterator[str]:
    for name, info in type(values).model_fields.items():
        # A component shows what differs from `defaults`; the rest it has all the same.
        if isinstance(values, ComponentValues) and name not in values.model_fields_set:
            continue
        yield from _render_key(info.alias or name, info, getattr(values, name), depth, values)


def _render_key(key: str, info: FieldInfo, value: Any, depth: int, owner: BaseModel) -> Iterator[str]:  # Any: a value
    indent = "  " * depth
    if not isinstance(owner, ComponentValues):
        for line in textwrap.wrap(info.description or "", _WIDTH - len(indent) - 2):
            yield f"{indent}# {line}\n"
    if isinstance(value, BaseModel) and isinstance(owner, ComponentValues):
        value = value.model_dump(by_alias=True, exclude_unset=True)
    if isinstance(value, BaseModel):
        block = list(_render_block(value, depth=depth + 1))
        yield f"{indent}{key}:{'' if block else ' {}'}\n"
        yield from block
    elif isinstance(value, (dict, list)) and value:
        text = yaml.safe_dump(value, sort_keys=False, width=1000)
        yield f"{indent}{key}:\n{textwrap.indent(text, indent + '  ')}"
    else:
        yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}\n"


def render_readme() -> str:
    rows = "\n".join(_list_rows(ChartValues(), ""))
    settings = "\n".join(
        f"| `{component.key}` | {', '.join(f'`{name}`' for name in list_further_settings(component))} |"
        for component in COMPONENTS
    )
    template = (CHART.parent / "chart_source" / "README.template.md").read_text()
    return template.replace("@VALUES@", rows).replace("@SETTINGS@", settings)


def _list_rows(values: BaseModel, prefix: str) -> Iterator[str]:
    for name, info in type(values).model_fields.items():
        path, value = f"{prefix}{info.alias or name}", getattr(values, name)
        if isinstance(value, ComponentValues):
            shown = value.model_dump(by_alias=True, exclude_unset=True, exclude={"enabled"})
            yield f"| `{path}` | `{json.dumps(shown)}` | {info.description} |"
        elif isinstance(value, BaseModel) and type(value).model_fields:
            yield from _list_rows(value, f"{path}.")
        else:
            yield f"| `{path}` | `{json.dumps(value, ensure_ascii=False)}` | {info.description} |"
