"""Each alert fires when it should and stays quiet when it should, asks for metrics that exist, and has its heading."""

import re
import subprocess
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
import yaml
from chart.alert_cases import CASES, AlertCase
from chart.rendering import find_tool, render
from chart_source import CHART

from mailroom_common import metrics

RULES = CHART / "files" / "alerts.yaml"
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
RUNBOOK = (CHART.parents[2] / "docs" / "runbook.md").read_text()
METRIC = re.compile(r"\bmailroom_[a-z_]+")
# Of Prometheus itself, and of every process with its client.
FOREIGN = {"up", "process_start_time_seconds"}


def list_our_metrics() -> dict[str, tuple[str, ...]]:
    """The series that the code's metrics have, with their labels."""
    ours = [value for value in vars(metrics).values() if isinstance(value, prometheus_client.metrics.MetricWrapperBase)]
    series: dict[str, tuple[str, ...]] = {}
    for metric in ours:
        (family,) = metric.describe()
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        series |= {family.name + suffix: metric._labelnames for suffix in suffixes}
    return series


def test_every_metric_of_an_alert_exists() -> None:
    ours = set(list_our_metrics())
    unknown = {name: set(METRIC.findall(rule["expr"])) - ours for name, rule in ALERTS.items()}
    assert {name: metrics for name, metrics in unknown.items() if metrics} == {}


def test_no_label_names_a_tenant_or_a_mailbox() -> None:
    labels = {label for names in list_our_metrics().values() for label in names}
    assert {label for label in labels if re.search("tenant|mailbox|address|doc_source|message", label)} == set()


def test_a_case_uses_the_labels_that_the_metric_has() -> None:
    ours = list_our_metrics()
    scraped = {"namespace", "job", "pod", "le"}
    for name, case in CASES.items():
        for series in (*case.fires, *case.stays_quiet):
            metric, _, selector = series.partition("{")
            if metric not in FOREIGN:
                assert set(re.findall(r"(\w+)=", selector)) - scraped <= set(ours[metric]), (name, series)


def test_each_alert_has_its_case_and_each_case_its_alert() -> None:
    assert set(CASES) == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_severity_summary_and_a_heading_in_the_runbook(name: str) -> None:
    assert ALERTS[name]["labels"]["severity"] in ("critical", "warning")
    assert ALERTS[name]["annotations"]["summary"].endswith(".")
    _, heading, rest = RUNBOOK.partition(f"\n## {name}\n")
    assert heading, f"docs/runbook.md has no heading {name}"
    section = rest.partition("\n## ")[0]
    assert all(f"**{part}**" in section for part in ("Means", "Look at", "Do")), name


def test_the_runbook_has_no_alert_that_is_gone() -> None:
    assert set(re.findall(r"^## (Mailroom\w+)$", RUNBOOK, flags=re.MULTILINE)) == set(ALERTS)


def test_promtool_accepts_the_rules() -> None:
    subprocess.run([str(find_tool("promtool")), "check", "rules", str(RULES)], check=True, capture_output=True)


def test_each_alert_fires_and_stays_quiet(tmp_path: Path) -> None:
    """Each case has a namespace of its own, so that few runs serve all: promtool makes a database for each."""
    (tmp_path / "rules.yaml").write_text(RULES.read_text())
    by_interval: dict[str, list[str]] = {}
    for name, case in CASES.items():
        by_interval.setdefault(case.interval, []).append(name)
    for interval, names in by_interval.items():
        # Every rule is evaluated at every step of every case: fewer steps are as good.
        step = "10m" if interval == "1m" else interval
        document = {
            "rule_files": ["rules.yaml"],
            "evaluation_interval": step,
            "tests": [_promtool_test(interval, names)],
        }
        (tmp_path / f"{interval}.yaml").write_text(yaml.safe_dump(document))
    command = [str(find_tool("promtool")), "test", "rules", *(f"{interval}.yaml" for interval in by_interval)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout


def _promtool_test(interval: str, names: list[str]) -> dict[str, Any]:  # Any: YAML
    inputs, expectations = [], []
    for name in names:
        case = CASES[name]
        for series, fires in ((case.fires, True), (case.stays_quiet, False)):
            namespace = f"{name}-{'fires' if fires else 'quiet'}"
            inputs += [
                {"series": selector.replace('namespace="mail"', f'namespace="{namespace}"'), "values": values}
                for selector, values in series.items()
            ]
            expectations.append(_expect(name, namespace, case, fires=fires))
    return {"interval": interval, "input_series": inputs, "promql_expr_test": expectations}


def _expect(name: str, namespace: str, case: AlertCase, *, fires: bool) -> dict[str, Any]:
    labels = {**case.labels, "namespace": namespace, "alertname": name, "severity": case.severity}
    written = ", ".join(f'{label}="{value}"' for label, value in labels.items())
    return {
        "expr": f'ALERTS{{alertname="{name}", namespace="{namespace}", alertstate="firing"}}',
        "eval_time": case.at,
        "exp_samples": [{"labels": f'ALERTS{{alertstate="firing", {written}}}', "value": 1}] if fires else [],
    }


def test_an_alert_can_be_left_out_and_leads_to_the_runbook() -> None:
    values = {"metrics": {"prometheusRule": {"disabled": ["MailroomDeadLetters"]}}}
    (manifest,) = [each for each in render("full", values) if each["kind"] == "PrometheusRule"]
    rules = {rule["alert"]: rule for group in manifest["spec"]["groups"] for rule in group["rules"]}
    assert set(ALERTS) - set(rules) == {"MailroomDeadLetters"}
    url = rules["MailroomOutboxBlocked"]["annotations"]["runbook_url"]
    assert url == "https://docs.example.com/runbook#mailroomoutboxblocked"
