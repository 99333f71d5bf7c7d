"""What every pod, selector and copy of a release keeps to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chart.rendering import SCENARIOS, Manifest, render
from chart_source.components import COMPONENTS

from ingestion.settings import WorkerSettings
from mailroom_common.process import STOP_DEADLINE_S
from mailroom_common.topic_access import list_access_rules
from mailroom_common.topics import list_deployed_topics
from mailroom_sandbox.site.services import SERVICES

WORKLOADS = ("Deployment", "StatefulSet")
IMMUTABLE = Path(__file__).with_name("immutable_fields.json")


def _pods(manifests: list[Manifest]) -> Iterator[tuple[str, dict[str, Any]]]:  # Any: YAML
    """The pod of every workload, job and test, by its name."""
    for manifest in manifests:
        if manifest["kind"] == "Pod":
            yield manifest["metadata"]["name"], manifest
        elif manifest["kind"] in (*WORKLOADS, "Job"):
            yield manifest["metadata"]["name"], manifest["spec"]["template"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_pod_meets_the_restricted_standard(scenario: str) -> None:
    for name, pod in _pods(render(scenario)):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 10000, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["limits"]["memory"], name


def _find_memory_limit(**settings: int) -> str:
    values = {"components": {"ingestionWorker": {"settings": settings}}}
    pods = dict(_pods(render("minimal", values)))
    return str(pods["mailroom-ingestion-worker"]["spec"]["containers"][0]["resources"]["limits"]["memory"])


def test_the_memory_of_a_worker_that_reads_is_that_of_its_processes_and_a_gibibyte() -> None:
    default = {name: field.default for name, field in WorkerSettings.model_fields.items()}
    parsers = default["parser_processes"] * default["parser_memory_bytes"]
    each_ocr = default["ocr_memory_bytes"]
    assert _find_memory_limit() == f"{1024 + (parsers + default['ocr_processes'] * each_ocr) // 2**20}Mi"
    assert _find_memory_limit(MAILROOM_OCR_PROCESSES=2) == f"{1024 + (parsers + 2 * each_ocr) // 2**20}Mi"
    assert _find_memory_limit(MAILROOM_PARSER_PROCESSES=1, MAILROOM_OCR_PROCESSES=0) == f"{1024 + parsers // 2**21}Mi"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_object_is_a_secret(scenario: str) -> None:
    assert [manifest for manifest in render(scenario) if manifest["kind"] == "Secret"] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_process_has_its_probes_on_the_health_port_and_time_to_stop(scenario: str) -> None:
    for manifest in render(scenario):
        if manifest["kind"] not in WORKLOADS:
            continue
        spec = manifest["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
            assert container[probe]["httpGet"] == {"path": path, "port": "health"}
        pause_s = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert spec["terminationGracePeriodSeconds"] > pause_s + STOP_DEADLINE_S


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_copies_are_set_by_one_hand(scenario: str) -> None:
    manifests = render(scenario)
    scaled = {
        manifest["spec"]["scaleTargetRef"]["name"]
        for manifest in manifests
        if manifest["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")
    }
    for manifest in manifests:
        if manifest["kind"] in WORKLOADS:
            assert ("replicas" in manifest["spec"]) is (manifest["metadata"]["name"] not in scaled)


def test_a_static_member_has_a_name_that_outlives_its_pod() -> None:
    by_name = {each["metadata"]["name"]: each for each in render("minimal") if each["kind"] in WORKLOADS}
    for component in COMPONENTS:
        workload = by_name[f"mailroom-{component.name}"]
        env = workload["spec"]["template"]["spec"]["containers"][0].get("env", [])
        has_name = any(entry["name"] == "MAILROOM_INSTANCE_ID" for entry in env)
        # The pods of a Deployment are named anew: as static members they would leave their partitions unserved.
        assert has_name is (workload["kind"] == "StatefulSet") is component.is_static_member


def test_what_kubernetes_does_not_let_change_has_not_changed() -> None:
    """Selectors and the like of an installed release: another value here makes `helm upgrade` fail for everyone."""
    found = {}
    for manifest in render("minimal"):
        spec, key = manifest.get("spec", {}), f"{manifest['kind']}/{manifest['metadata']['name']}"
        if manifest["kind"] in WORKLOADS:
            fields = ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")
            found[key] = {field: spec[field] for field in fields if field in spec}
        elif manifest["kind"] == "Service":
            found[key] = {"clusterIP": spec.get("clusterIP"), "selector": spec["selector"]}
    assert found == json.loads(IMMUTABLE.read_text())


def test_a_selector_picks_the_pods_of_its_component_only() -> None:
    for manifest in render("full"):
        if manifest["kind"] in WORKLOADS:
            selector = manifest["spec"]["selector"]["matchLabels"]
            assert selector.items() <= manifest["spec"]["template"]["metadata"]["labels"].items()
            assert set(selector) == {f"app.kubernetes.io/{label}" for label in ("name", "instance", "component")}


def test_every_pod_has_its_network_policy() -> None:
    manifests = render("full")
    selectors = [each["spec"]["podSelector"]["matchLabels"] for each in manifests if each["kind"] == "NetworkPolicy"]
    for name, pod in _pods(manifests):
        labels = pod["metadata"]["labels"]
        assert any(selector.items() <= labels.items() for selector in selectors), name


def test_only_who_calls_providers_reaches_the_internet_where_the_object_store_is_named() -> None:
    store = {"to": [{"ipBlock": {"cidr": "10.3.0.0/24"}}], "ports": [{"port": 443}]}
    manifests = render("full", {"networkPolicy": {"objectStorage": [store]}})
    policies = {each["metadata"]["name"]: each["spec"] for each in manifests if each["kind"] == "NetworkPolicy"}
    for component in COMPONENTS:
        egress = policies[f"mailroom-{component.name}"]["egress"]
        blocks = [peer["ipBlock"] for rule in egress for peer in rule.get("to", []) if "ipBlock" in peer]
        internet = [block for block in blocks if block["cidr"] == "0.0.0.0/0"]
        assert bool(internet) is component.calls_providers, component.name
        assert all("169.254.0.0/16" in block["except"] for block in internet)


def test_a_policy_says_of_everything_where_it_is() -> None:
    policies = [
        each for each in render("minimal", {"networkPolicy": {"enabled": True}}) if each["kind"] == "NetworkPolicy"
    ]
    assert len(policies) > len(COMPONENTS)
    for policy in policies:
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule["to"] and rule.get("ports", True) for rule in policy["spec"]["egress"]), policy["metadata"]


def test_a_policy_leads_to_the_proxy_alone_where_calls_of_the_providers_take_it() -> None:
    proxy = {"to": [{"ipBlock": {"cidr": "10.1.1.1/32"}}], "ports": [{"port": 3128}]}
    values = {"networkPolicy": {"enabled": True, "providers": [proxy], "objectStorage": []}}
    policies = {
        each["metadata"]["name"]: each["spec"] for each in render("minimal", values) if each["kind"] == "NetworkPolicy"
    }
    for component in COMPONENTS:
        egress = policies[f"mailroom-{component.name}"]["egress"]
        assert (proxy in egress) is component.calls_providers, component.name
        assert "0.0.0.0/0" not in str(egress)


def test_only_the_reader_of_documents_reaches_a_language_model_and_only_where_one_is_used() -> None:
    model = {"to": [{"ipBlock": {"cidr": "10.2.2.2/32"}}], "ports": [{"port": 8000}]}
    policy = {"enabled": True, "objectStorage": [], "languageModel": [model]}
    for use in ("", "acme:invoice:unsure"):
        values = {"networkPolicy": policy, "languageModel": {"use": use, "model": "m"}}
        manifests = render("minimal", values)
        reaching = [
            each["metadata"]["name"]
            for each in manifests
            if each["kind"] == "NetworkPolicy" and model in each["spec"]["egress"]
        ]
        assert reaching == (["mailroom-ingestion-worker"] if use else [])


def test_an_ingress_sends_every_path_where_the_sandboxs_reverse_proxy_sends_it() -> None:
    of_chart = {path: component.command for component in COMPONENTS for path in component.routes}
    of_sandbox = {path: ("python", *service.command[1:]) for service in SERVICES for path in service.routes}
    assert of_chart == of_sandbox


@pytest.mark.parametrize(("scenario", "kind"), [("outlook", "Ingress"), ("gmail", "HTTPRoute")])
def test_webhooks_and_api_have_routes_of_their_own(scenario: str, kind: str) -> None:
    routes = {each["metadata"]["name"]: str(each["spec"]) for each in render(scenario) if each["kind"] == kind}
    assert set(routes) == {"mailroom-webhooks", "mailroom-api"}
    for component in COMPONENTS:
        for path in component.routes:
            side = "webhooks" if component.is_called_by_providers else "api"
            assert [name for name, spec in routes.items() if f"'{path}'" in spec] == [f"mailroom-{side}"]
    # Nobody outside sees probes and metrics.
    assert all("health" not in spec and "9090" not in spec for spec in routes.values())


def test_topics_are_those_of_the_code_and_stay_when_the_chart_goes() -> None:
    objects = [manifest for manifest in render("full") if manifest["kind"] == "KafkaTopic"]
    assert {
        (each["spec"]["topicName"], each["spec"]["partitions"], str(sorted(each["spec"]["config"].items())))
        for each in objects
    } == {(each.name, each.partitions, str(sorted(each.config.items()))) for each in list_deployed_topics("prod.", 3)}
    assert {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in objects} == {"keep"}


def test_a_kafka_user_may_do_what_its_component_does_and_no_more() -> None:
    users = {each["metadata"]["name"]: each["spec"] for each in render("strimzi") if each["kind"] == "KafkaUser"}
    rules = {
        (f"User:{name}", acl["resource"]["type"], acl["resource"]["name"], operation.lower())
        for name, spec in users.items()
        for acl in spec["authorization"]["acls"]
        for operation in acl["operations"]
    }
    assert rules == {(rule.principal, rule.resource, rule.name, rule.operation) for rule in list_access_rules("")}


def test_a_kafka_user_is_who_its_component_says_that_it_is() -> None:
    manifests = render("strimzi", {"migrations": {"topics": True}})
    users = {each["metadata"]["name"] for each in manifests if each["kind"] == "KafkaUser"}
    configs = [each["data"] for each in manifests if each["kind"] == "ConfigMap" and "data" in each]
    named = {data["MAILROOM_KAFKA_USERNAME"] for data in configs if "MAILROOM_KAFKA_USERNAME" in data}
    assert named | {"mailroom-topics"} == users


@pytest.mark.parametrize(("scenario", "is_hook"), [("minimal", True), ("client-certificates", False)])
def test_jobs_run_before_the_pods_or_as_plain_jobs(scenario: str, is_hook: bool) -> None:
    jobs = [manifest for manifest in render(scenario) if manifest["kind"] == "Job"]
    assert len(jobs) == 2
    for job in jobs:
        assert ("helm.sh/hook" in job["metadata"].get("annotations", {})) is is_hook
        # A failed hook goes with the next attempt, which has its name; the fields of a plain Job are immutable.
        assert job["metadata"]["name"].endswith("-1") is not is_hook
        # A hook runs before the release has a ConfigMap or a service account.
        assert "envFrom" not in job["spec"]["template"]["spec"]["containers"][0]
        assert job["spec"]["template"]["spec"]["serviceAccountName"] == "default"


def test_a_digest_goes_before_a_tag() -> None:
    by_name = {each["metadata"]["name"]: each for each in render("full") if each["kind"] in WORKLOADS}

    def image(name: str) -> str:
        return str(by_name[f"mailroom-{name}"]["spec"]["template"]["spec"]["containers"][0]["image"])

    assert image("ingestion-worker").startswith("registry.example.com/mailroom/ingestion@sha256:")
    assert image("sync-engine-worker") == "registry.example.com/mailroom/sync-engine:1.2.3"
