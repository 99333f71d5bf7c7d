"""The chart sets what a process reads, and nothing else."""

from typing import Any

import pytest
from chart.rendering import Manifest, RenderFailure, render
from chart_source.components import COMPONENTS, Component
from chart_source.variables import CONFIG, FILES, FIXED, SECRETS, find_secrets_without_source, list_further_settings

# Libraries' own variables: the AWS client's, and what tests add.
OTHERS = {"AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "RELEASE"}


def _find(manifests: list[Manifest], component: Component, *kinds: str) -> Manifest:
    name = f"mailroom-{component.name}"
    return next(each for each in manifests if each["kind"] in kinds and each["metadata"]["name"] == name)


def _container(manifests: list[Manifest], component: Component) -> dict[str, Any]:  # Any: YAML
    workload = _find(manifests, component, "Deployment", "StatefulSet")
    return workload["spec"]["template"]["spec"]["containers"][0]  # type: ignore[no-any-return]


def _variables(manifests: list[Manifest], component: Component) -> set[str]:
    environment = {entry["name"] for entry in _container(manifests, component).get("env", [])}
    return environment | set(_find(manifests, component, "ConfigMap")["data"])


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.name)
@pytest.mark.parametrize("scenario", ["full", "minimal", "client-certificates"])
def test_a_process_gets_its_own_settings_only(scenario: str, component: Component) -> None:
    known = set(component.variables())
    readable = known | {f"{name}_FILE" for name in component.secret_variables()}
    assert _variables(render(scenario), component) - readable - OTHERS == set()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.name)
def test_every_setting_of_a_process_can_be_set(component: Component) -> None:
    settable = {*CONFIG, *FIXED, *SECRETS, *FILES, *list_further_settings(component)}
    assert set(component.variables()) - settable == set()
    assert find_secrets_without_source(component) == []


def test_every_variable_of_the_chart_is_a_setting_of_some_process() -> None:
    read = {name for component in COMPONENTS for name in component.variables()}
    assert {*CONFIG, *FIXED, *SECRETS, *FILES} - read == set()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.name)
def test_what_a_process_needs_is_set_by_the_least_values(component: Component) -> None:
    required = {name for name, info in component.variables().items() if info.is_required()}
    given = {name.removesuffix("_FILE") for name in _variables(render("minimal"), component)}
    # Falls back to the database of the service by itself.
    assert required - given - {"MAILROOM_TOKEN_DATABASE_URL"} == set()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.name)
def test_a_secret_comes_as_a_file_and_from_a_secret(component: Component) -> None:
    manifests = render("full")
    secret = set(component.secret_variables())
    assert secret & set(_find(manifests, component, "ConfigMap")["data"]) == set()
    assert (
        secret & {entry["name"] for entry in _container(manifests, component).get("env", []) if "value" in entry}
        == set()
    )


def test_the_gateway_is_given_no_database_and_no_client_secret() -> None:
    given = _variables(render("full"), COMPONENTS[0])
    assert not any("DATABASE" in name or "CLIENT_SECRET" in name or "TOKEN_KEYS" in name for name in given)


def test_a_setting_of_another_process_is_refused() -> None:
    values = {"components": {"webhookGateway": {"settings": {"MAILROOM_MAX_CONCURRENT_SYNCS": 3}}}}
    with pytest.raises(RenderFailure, match="MAILROOM_MAX_CONCURRENT_SYNCS"):
        render("minimal", values)


def test_a_large_number_stays_a_number() -> None:
    values = {"components": {"webhookGateway": {"settings": {"MAILROOM_MAX_BODY_BYTES": 20_000_000}}}}
    data = _find(render("minimal", values), COMPONENTS[0], "ConfigMap")["data"]
    assert data["MAILROOM_MAX_BODY_BYTES"] == "20000000"


def test_a_changed_setting_replaces_the_pods() -> None:
    def checksum(values: dict[str, Any]) -> str:
        template = _find(render("minimal", values), COMPONENTS[0], "Deployment")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum({}) != checksum({"logLevel": "debug"})
