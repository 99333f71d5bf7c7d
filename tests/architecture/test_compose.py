"""`docker-compose.yml`: as the compose specification has it, and as secure as the README says.

`compose-spec.json` is the schema of the specification, unchanged: `schema/compose-spec.json` of the Go module
`github.com/compose-spec/compose-go/v2` v2.16.2, Apache License 2.0.
"""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

from mailroom_common.topic_access import COMPONENTS
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.settings_classes import list_all_classes, list_variables

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
CONTAINERS: dict[str, dict[str, Any]] = COMPOSE["services"]
PROCESSES = {
    "webhook-gateway": "webhook_gateway",
    "subscription-manager": "subscription_manager",
    "ingestion-api": "ingestion_api",
    "coalescer": "sync_engine_coalescer",
    "sync-worker": "sync_engine_worker",
    "ingestion-worker": "ingestion_worker",
    "sync-api": "sync_engine_api",
}


@pytest.fixture(scope="module")
def identities() -> ModuleType:
    return _load_program("make_identities")


def _load_program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"deploy/compose/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_as_the_compose_specification_has_it() -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    errors = jsonschema.Draft202012Validator(schema).iter_errors(COMPOSE)
    assert [f"{'/'.join(map(str, error.path))}: {error.message[:200]}" for error in errors] == []


def test_every_process_of_a_site_has_its_container() -> None:
    assert set(PROCESSES.values()) == {service.name for service in SERVICES}
    assert PROCESSES.keys() <= CONTAINERS.keys()


def test_the_proxy_routes_by_path_as_the_sandboxs_does() -> None:
    locations = re.findall(r"location ~ \^/\(?([a-z/|-]+)\)?\(/\S* \{\s+set \$upstream ([a-z-]+);", _read_proxy())
    routed = {f"/{path}": PROCESSES[container] for paths, container in locations for path in paths.split("|")}
    assert routed == {route: service.name for service in SERVICES for route in service.routes}


def test_the_apis_pages_are_those_of_every_service_with_an_api() -> None:
    described = dict(argument.split("=") for argument in CONTAINERS["api-pages"]["command"])
    with_key = {name for name in PROCESSES if "MAILROOM_API_KEYS_FILE" in CONTAINERS[name]["environment"]}
    assert described == {PROCESSES[name]: f"http://{name}:8080" for name in with_key}
    location = re.search(r"location ~ (\S+) \{\s+set \$upstream api-pages;", _read_proxy())
    assert location is not None
    assert [path for path in ("/", "/docs", "/openapi.json", "/docs/x", "/open") if re.match(location[1], path)] == [
        "/",
        "/docs",
        "/openapi.json",
    ]


def _read_proxy() -> str:
    return (ROOT / "deploy/compose/nginx.conf").read_text()


def test_prometheus_asks_every_process_and_grafana_reads_the_charts_dashboards() -> None:
    scraped = yaml.safe_load((ROOT / "deploy/compose/prometheus.yml").read_text())["scrape_configs"][0]
    assert {target for one in scraped["static_configs"] for target in one["targets"]} == {
        f"{name}:9000" for name in PROCESSES
    }
    (provider,) = yaml.safe_load((ROOT / "deploy/compose/grafana/dashboards/mailroom.yml").read_text())["providers"]
    mounted = dict(volume.split(":")[:2] for volume in CONTAINERS["grafana"]["volumes"])
    assert mounted["./deploy/helm/mailroom/files/dashboards"] == provider["options"]["path"]


def test_nobody_runs_insecurely() -> None:
    assert "MAILROOM_INSECURE" not in (ROOT / "docker-compose.yml").read_text()
    for name in PROCESSES:
        environment = CONTAINERS[name]["environment"]
        assert environment.get("MAILROOM_KAFKA_SECURITY_PROTOCOL", "SSL") == "SSL"
        assert ("MAILROOM_DATABASE_URL_FILE" in environment) == (name not in {"webhook-gateway", "coalescer"})


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_a_process_gets_its_own_settings_and_no_other(name: str) -> None:
    service = next(service for service in SERVICES if service.name == PROCESSES[name])
    given = CONTAINERS[name]["environment"].keys() | _read_variables(CONTAINERS[name].get("env_file", []))
    ours = {variable for variable in given if variable.startswith("MAILROOM_")}
    assert sorted(ours - list_variables(list_all_classes(service))) == []


def _read_variables(files: list[str]) -> set[str]:
    """Those of the demo's files: a site's own have the same."""
    paths = [re.sub(r"\$\{MAILROOM_PROVIDERS:-(.*?)\}", r"\1", file) for file in files]
    lines = [line for path in paths for line in (ROOT / path).read_text().splitlines()]
    return {line.partition("=")[0] for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_a_container_has_few_rights_and_listens_on_this_machine_only(name: str) -> None:
    container = CONTAINERS[name]
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container.get("read_only", False) or name == "kafka"
    assert all(port.startswith("127.0.0.1:") for port in container.get("ports", []))
    assert "privileged" not in container


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_a_process_has_a_health_check_and_the_time_to_stop(name: str) -> None:
    assert "/readyz" in CONTAINERS[name]["healthcheck"]["test"][-1]
    assert CONTAINERS[name]["stop_grace_period"] == "10s"
    assert CONTAINERS[name]["restart"] == "unless-stopped"


def test_a_container_mounts_its_own_identity_and_no_other() -> None:
    shared = {"topics": "jobs", "migrate": "jobs", "api-key": "jobs"}
    for name, container in CONTAINERS.items():
        mounted = [volume for volume in container.get("volumes", []) if volume.startswith(("identity-", "vault"))]
        if name != "identities" and mounted:
            assert mounted == [f"identity-{shared.get(name, name)}:/identity:ro"]


def test_each_volume_that_is_mounted_is_declared_and_each_folder_exists() -> None:
    mounted = {volume.split(":")[0] for container in CONTAINERS.values() for volume in container.get("volumes", [])}
    files = {source for source in mounted if source.startswith(".")}
    assert mounted - files == COMPOSE["volumes"].keys()
    assert [source for source in files if not (ROOT / source).exists()] == []


def test_each_identity_has_a_volume_and_is_who_the_acls_say(identities: ModuleType) -> None:
    made = {identity.name: identity for identity in identities.IDENTITIES}
    volumes = {name.removeprefix("identity-") for name in COMPOSE["volumes"] if name.startswith("identity-")}
    assert made.keys() == volumes
    principals = {component.default_user for component in COMPONENTS}
    at_kafka = {name for name in PROCESSES if "MAILROOM_KAFKA_BOOTSTRAP" in CONTAINERS[name]["environment"]}
    assert {made[name].common_name for name in at_kafka} <= principals


def test_a_file_that_a_setting_names_is_one_that_its_identity_has(identities: ModuleType, tmp_path: Path) -> None:
    made = {identity.name: identity for identity in identities.IDENTITIES}
    (tmp_path / "vault").mkdir()
    certificates = {"ca.pem", "bundle.pem", "tls.crt", "tls.key", "tls.pem"}
    for name, container in CONTAINERS.items():
        identity = next((v.split(":")[0][9:] for v in container.get("volumes", []) if v.startswith("identity-")), None)
        if identity is None or name == "identities":
            continue
        has = certificates | identities.list_secrets(made[identity], tmp_path / "vault").keys()
        named = set(re.findall(r"/identity/([a-z0-9_.-]+)", json.dumps(container)))
        assert named <= has, name


def test_each_process_that_uses_blobs_has_a_key_and_rights_of_its_own(identities: ModuleType, tmp_path: Path) -> None:
    made = {identity.name: identity for identity in identities.IDENTITIES}
    (tmp_path / "vault").mkdir()
    secrets = {name: identities.list_secrets(identity, tmp_path / "vault") for name, identity in made.items()}
    with_blobs = {name for name in PROCESSES if "MAILROOM_BLOB_URL" in CONTAINERS[name]["environment"]}
    users = json.loads(secrets["s3"]["users.json"])["accessAccounts"]
    assert with_blobs == users.keys() == {process for process, _, _ in _load_program("allow_blobs").RIGHTS}
    keys = {name: found["s3-credentials"] for name, found in secrets.items() if "s3-credentials" in found}
    assert keys.keys() == {*with_blobs, "blob-access"}
    assert len(set(keys.values())) == len(keys)
    assert all(users[name]["secret"] in keys[name] for name in with_blobs)
    assert {user["role"] for user in users.values()} == {"user"}


def test_identities_are_made_once_and_stay(
    identities: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.chown", lambda *_arguments: None)
    for name in ("vault", *(identity.name for identity in identities.IDENTITIES)):
        (tmp_path / name).mkdir()
    identities.main(tmp_path)
    first = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    identities.main(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == first
    assert {file.stat().st_mode & 0o777 for file in first} == {0o400}
