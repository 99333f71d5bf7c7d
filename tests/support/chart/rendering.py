"""`helm template`, once for each scenario, Helm and Kubernetes version."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from chart_source import CHART

Manifest = dict[str, Any]  # Any: YAML

HELMS = ("helm3", "helm4")
# The oldest version that the chart takes, one in the middle, the newest whose schemas we have.
KUBERNETES = ("1.30.0", "1.34.0", "1.37.0")
EXAMPLES = tuple(sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "examples").glob("*-values.yaml")))
SCENARIOS = tuple(sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml")))
_TOOLS = CHART.parents[2] / ".venv" / "tools"


def find_tool(name: str) -> Path:
    fetched = _TOOLS / name
    found = fetched if fetched.exists() else shutil.which(name)
    assert found, f"{name} is missing: run `python deploy/helm/tools.py`, or put a {name} on the PATH"
    return Path(found)


class RenderFailure(Exception):
    """What helm said."""


def run_helm(helm: str, *arguments: str, values: str = "") -> str:
    command = [str(find_tool(helm)), *arguments]
    done = subprocess.run(command, input=values, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise RenderFailure(done.stderr + done.stdout)
    return done.stdout


def render(
    scenario: str, values: Manifest | None = None, *, helm: str = "helm4", kubernetes: str = KUBERNETES[-1]
) -> list[Manifest]:
    """The objects of a release `mailroom` in namespace `mail`; `values` come on top of the scenario's."""
    return json.loads(_render(scenario, json.dumps(values or {}), helm, kubernetes))  # type: ignore[no-any-return]


@cache
def _render(scenario: str, values: str, helm: str, kubernetes: str) -> str:
    folder = "examples" if scenario in EXAMPLES else "ci"
    text = run_helm(
        helm,
        *("template", "mailroom", str(CHART), "--namespace", "mail", "--kube-version", kubernetes),
        *("--values", str(CHART / folder / f"{scenario}-values.yaml"), "--values", "-"),
        values=values,
    )
    return json.dumps([manifest for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader) if manifest])
