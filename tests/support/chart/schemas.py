"""The strict schemas of Kubernetes' own kinds by version, and of those that operators add."""

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from chart.rendering import Manifest, find_tool

_OPERATOR_KINDS = yaml.safe_load((Path(__file__).parent / "operator_kinds.yaml").read_text())


def find_faults(manifest: Manifest, kubernetes: str) -> list[str]:
    """Everything that a strict API server would refuse. A kind without a schema is a fault too."""
    api, kind = manifest["apiVersion"], manifest["kind"]
    validator = _operator_validator(f"{api}/{kind}") or _core_validator(kubernetes, api, kind)
    if validator is None:
        return [f"{api} {kind} has no schema in {kubernetes}"]
    name = manifest["metadata"]["name"]
    return [f"{kind} {name}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(manifest)]


@cache
def _operator_validator(name: str) -> Draft202012Validator | None:
    schema = _OPERATOR_KINDS["kinds"].get(name)
    return None if schema is None else Draft202012Validator({"$defs": _OPERATOR_KINDS["$defs"], **schema})


@cache
def _core_validator(kubernetes: str, api: str, kind: str) -> Draft202012Validator | None:
    group, _, version = api.rpartition("/")
    short = group.split(".")[0]
    file = "-".join(part for part in (kind.lower(), short, version) if part)
    try:
        schema = _read_schema(kubernetes, f"{file}.json")
    except KeyError:
        return None
    return Draft202012Validator(schema, registry=_registry(kubernetes))


@cache
def _registry(kubernetes: str) -> Registry[Any]:
    definitions = DRAFT202012.create_resource(_read_schema(kubernetes, "_definitions.json"))
    registry: Registry[Any] = Registry().with_resource("/api/_definitions.json", definitions)
    return registry.crawl()


def _read_schema(kubernetes: str, file: str) -> Any:  # Any: JSON
    folder = f"kubernetes_validate/kubernetes-json-schema/v{kubernetes}-local-strict"
    return json.loads(_open_wheel().read(f"{folder}/{file}"))


@cache
def _open_wheel() -> zipfile.ZipFile:
    return zipfile.ZipFile(find_tool("kubernetes_validate.whl"))
