"""Dashboards ask for metrics that exist, by labels that these have, and for one namespace at a time."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.rendering import find_tool, render
from chart_source import CHART
from chart_source.dashboards import DASHBOARDS
from prometheus_client.metrics import MetricWrapperBase

from mailroom_common import metrics

FILES = sorted((CHART / "files" / "dashboards").glob("*.json"))
FOREIGN = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}
# What the scrape adds to every series.
SCRAPED = {"namespace", "job", "pod", "le"}


def _queries(path: Path) -> list[str]:
    panels: list[dict[str, Any]] = json.loads(path.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def _our_labels() -> dict[str, set[str]]:
    ours: dict[str, set[str]] = {}
    for value in vars(metrics).values():
        if isinstance(value, MetricWrapperBase):
            (family,) = value.describe()
            for suffix in ("", "_total", "_bucket", "_sum", "_count"):
                ours[family.name + suffix] = set(value._labelnames)
    return ours


def test_there_is_a_file_for_each_dashboard() -> None:
    assert {path.stem for path in FILES} == {dashboard.name for dashboard in DASHBOARDS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_metric_of_a_dashboard_exists_with_its_labels(path: Path) -> None:
    ours = _our_labels()
    for query in _queries(path):
        for metric in set(re.findall(r"\b([a-z_]+)\{", query)) - FOREIGN:
            assert metric in ours, query
            grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
            selected = set(re.findall(r'(\w+)=~?"', query))
            assert (grouped | selected) - SCRAPED <= ours[metric], query


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_query_is_about_the_chosen_namespace(path: Path) -> None:
    for query in _queries(path):
        assert query.count('namespace=~"$namespace"') == len(re.findall(r"[a-z_]\{", query)), query


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_dashboard_names_no_datasource_of_somebody(path: Path) -> None:
    assert set(re.findall(r'"uid": "([^"]+)"', path.read_text())) == {"${datasource}", f"mailroom-{path.stem}"}


def test_prometheus_can_parse_every_query(tmp_path: Path) -> None:
    queries = [query.replace("$__rate_interval", "5m") for path in FILES for query in _queries(path)]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    command = [str(find_tool("promtool")), "check", "rules", str(tmp_path / "rules.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_each_dashboard_becomes_a_config_map_that_grafana_finds() -> None:
    found = [each for each in render("full") if "grafana_dashboard" in each["metadata"].get("labels", {})]
    assert len(found) == len(DASHBOARDS)
    for manifest in found:
        assert manifest["metadata"]["annotations"]["grafana_folder"] == "Mailroom"
        ((name, text),) = manifest["data"].items()
        assert json.loads(text) == json.loads((CHART / "files" / "dashboards" / name).read_text())
