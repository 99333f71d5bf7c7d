"""Every scenario renders, on both Helms, to objects that a strict API server of each version takes."""

import pytest
from chart.rendering import EXAMPLES, HELMS, KUBERNETES, SCENARIOS, render, run_helm
from chart.schemas import find_faults
from chart_source import CHART

# Templates do not ask for the version, so one rendering serves the schemas of all.
OLDER = [("full", version) for version in KUBERNETES[:-1]]


@pytest.mark.parametrize(
    ("scenario", "kubernetes"), [*OLDER, *((name, KUBERNETES[-1]) for name in (*SCENARIOS, *EXAMPLES))]
)
def test_every_object_is_what_kubernetes_takes(scenario: str, kubernetes: str) -> None:
    manifests = render(scenario)
    assert manifests
    assert [fault for manifest in manifests for fault in find_faults(manifest, kubernetes)] == []


def test_examples_show_a_small_site_production_and_strimzi_with_keda() -> None:
    assert EXAMPLES == ("production", "small", "strimzi-keda")
    assert not set(EXAMPLES) & set(SCENARIOS)
    kinds = {example: {manifest["kind"] for manifest in render(example)} for example in EXAMPLES}
    assert {"NetworkPolicy", "PrometheusRule", "HorizontalPodAutoscaler", "Ingress"} <= kinds["production"]
    assert {"KafkaTopic", "KafkaUser", "ScaledObject", "HTTPRoute"} <= kinds["strimzi-keda"]
    assert kinds["small"].isdisjoint({"NetworkPolicy", "PrometheusRule", "ScaledObject"})


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_helms_render_the_same_objects(scenario: str) -> None:
    rendered = [sorted(map(str, render(scenario, helm=helm))) for helm in HELMS]
    assert rendered[0] == rendered[1]


@pytest.mark.parametrize("helm", HELMS)
def test_helm_has_no_complaint(helm: str) -> None:
    values = str(CHART / "ci" / "full-values.yaml")
    assert "0 chart(s) failed" in run_helm(helm, "lint", str(CHART), "--strict", "--values", values)


def test_a_misspelt_key_is_a_fault() -> None:
    manifest = next(manifest for manifest in render("minimal") if manifest["kind"] == "Deployment")
    manifest["spec"]["replica"] = 1
    assert len(find_faults(manifest, KUBERNETES[-1])) == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_two_objects_share_a_name(scenario: str) -> None:
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in render(scenario)]
    assert len(names) == len(set(names))
