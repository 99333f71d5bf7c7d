"""What an operator sees of the site from outside: its pages, its refusals, Prometheus and Grafana."""

import json
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import httpx

from mailroom_compose.engines import CHECKOUT
from mailroom_compose.project import Project

PUBLIC_URL = "https://mailroom.localhost:8443"
CONTROL_URL = "http://127.0.0.1:9445"
_PROMETHEUS_URL = "http://127.0.0.1:9090"
_GRAFANA_URL = "http://127.0.0.1:3000"
_DASHBOARDS = CHECKOUT / "deploy/helm/mailroom/files/dashboards"
_PROBES = """
from urllib.request import urlopen
for path in ("livez", "readyz"):
    urlopen(f"http://127.0.0.1:9000/{path}", timeout=9)
"""
# Prometheus looks every 15 s, and Grafana reads its folder at its start.
_SEEN_WITHIN_S = 90.0

# What the proxy answers to somebody without a key.
_ANSWERS = {
    "/docs": 200,
    "/openapi.json": 200,
    "/documents": 401,
    "/doc-sources": 401,
    "/messages": 401,
    "/metrics": 404,
    "/readyz": 404,
}


def find_wrong_answers(trusted: ssl.SSLContext) -> list[str]:
    with httpx.Client(base_url=PUBLIC_URL, verify=trusted, trust_env=False, timeout=30) as http:
        answers = {path: http.get(path).status_code for path in _ANSWERS}
        paths = http.get("/openapi.json").json()["paths"]
    wrong = [f"{path} answers {got}, not {_ANSWERS[path]}" for path, got in answers.items() if got != _ANSWERS[path]]
    missing = [path for path in ("/documents", "/doc-sources", "/messages") if path not in paths]
    return wrong + [f"/openapi.json does not describe {path}" for path in missing]


def find_processes(project: Project) -> list[str]:
    """Containers of our processes: those that have a health port."""
    targets = (CHECKOUT / "deploy/compose/prometheus.yml").read_text()
    return [name for name in project.services if f"- {name}:9000\n" in targets]


def check_probes(project: Project, processes: Iterable[str]) -> None:
    """Raises CommandFailed for a process that is not alive or not ready."""
    for process in processes:
        project.execute(process, "python", "-c", _PROBES)


def find_targets_down(processes: Collection[str]) -> list[str]:
    """Processes that Prometheus does not see `up`, after it had time to look."""
    return _wait_until_empty(lambda: list_down(_get_json(f"{_PROMETHEUS_URL}/api/v1/targets"), processes))


def list_down(targets: Mapping[str, Any], processes: Collection[str]) -> list[str]:
    seen = {one["labels"]["job"]: one["health"] for one in targets["data"]["activeTargets"]}
    return [f"{name} is {seen.get(name, 'no target')}" for name in processes if seen.get(name) != "up"]


def find_missing_dashboards() -> list[str]:
    """Titles that Grafana has not, after it had time to read them."""
    titles = {json.loads(file.read_text())["title"] for file in _DASHBOARDS.glob("*.json")}
    return _wait_until_empty(
        lambda: sorted(titles - {one["title"] for one in _get_json(f"{_GRAFANA_URL}/api/search?type=dash-db")})
    )


def _wait_until_empty(find: Callable[[], list[str]]) -> list[str]:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while True:
        try:
            found = find()
        except httpx.HTTPError as error:
            found = [f"no answer ({type(error).__name__})"]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(2)


def _get_json(url: str) -> Any:  # Any: JSON
    answer = httpx.get(url, trust_env=False, timeout=30)
    answer.raise_for_status()
    return answer.json()
