"""What the images hold, and that the parser is confined in one: unprivileged, with Docker's seccomp profile."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
HOSTILE_READERS = ROOT / "libs/common/tests/unit/parser"
TAG = tomllib.loads((ROOT / "libs/common/pyproject.toml").read_text())["project"]["version"]
SERVICES = ["webhook-gateway", "subscription-manager", "sync-engine", "ingestion"]
IMAGES = [*SERVICES, "cli", "sandbox"]
ENVIRONMENT = {**os.environ, "CONTAINERS_CONF": str(ROOT / "deploy/images/containers.conf")}
HARDENED = [
    "--network=none",
    "--read-only",
    "--tmpfs=/tmp",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    f"--security-opt=seccomp={HERE / 'docker-seccomp.json'}",
]


def run_image(image: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = ["podman", "run", "--rm", *HARDENED, *options, f"mailroom/{image}:{TAG}", *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)


def run_python(image: str, code: str) -> str:
    ended = run_image(image, "-c", code, options=("--entrypoint=python",))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_an_ordinary_user_and_holds_nothing_that_installs_or_builds(image: str) -> None:
    found = json.loads(
        run_python(
            image,
            "import importlib.util, json, os, shutil\n"
            "modules = [name for name in ('pip', 'uv', 'ensurepip', 'hatchling') if importlib.util.find_spec(name)]\n"
            "tools = [name for name in ('pip', 'uv', 'gcc', 'cc', 'make') if shutil.which(name)]\n"
            "print(json.dumps([os.getuid(), os.getgid(), modules, tools, os.path.exists('/source')]))",
        )
    )
    assert found == [10001, 10001, [], [], False]


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_says_what_it_is(image: str) -> None:
    shown = subprocess.run(
        ["podman", "image", "inspect", f"mailroom/{image}:{TAG}"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    config = json.loads(shown.stdout)[0]["Config"]
    prefix = "org.opencontainers.image."
    labels = {name.removeprefix(prefix): value for name, value in config["Labels"].items() if name.startswith(prefix)}
    assert {"title", "description", "version", "revision", "base.name"} <= labels.keys()
    assert (labels["title"], labels["version"], config["User"]) == (f"mailroom-{image}", TAG, "10001:10001")


@pytest.mark.parametrize("image", SERVICES)
def test_a_service_starts_and_names_the_settings_that_it_lacks(image: str) -> None:
    role = ["worker"] if image in {"sync-engine", "ingestion"} else []
    ended = run_image(image, *role)
    assert ended.returncode == 78
    assert "MAILROOM_KAFKA_BOOTSTRAP" in ended.stderr


def test_the_root_file_system_cannot_be_written() -> None:
    ended = run_image("ingestion", "-c", "open('/opt/mailroom/x', 'w')", options=("--entrypoint=python",))
    assert "Read-only file system" in ended.stderr


@pytest.fixture(scope="module")
def probed() -> dict[str, Any]:
    ended = run_image(
        "ingestion",
        "/probe/probe_parser.py",
        "/readers",
        options=(
            "--entrypoint=python",
            "--env=MAILROOM_TOKEN_KEYS=canary",
            f"--volume={HERE}:/probe:ro",
            f"--volume={HOSTILE_READERS}:/readers:ro",
        ),
    )
    assert ended.returncode == 0, ended.stderr
    assert "canary" not in ended.stdout
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


def test_every_required_layer_and_landlock_hold_without_privileges(probed: dict[str, Any]) -> None:
    assert probed["user"] == 10001
    # Docker's profile forbids namespaces to a process without privileges.
    assert probed["layers"] == dict.fromkeys(probed["layers"], True) | {"namespaces": False}
    assert probed["read"]["size"] == len("another tenant's")


def test_a_child_cannot_open_a_socket_start_a_program_or_touch_its_parent(probed: dict[str, Any]) -> None:
    assert "allowed" not in probed["calls"].values(), probed["calls"]
    assert probed["x32"].endswith("signal 31")


def test_a_child_cannot_read_its_parents_environment(probed: dict[str, Any]) -> None:
    assert probed["environments"]["services"] == probed["environments"]["parents"] == "PermissionError"
    assert "MAILROOM_TOKEN_KEYS" not in probed["environments"]["own"]


def test_a_child_cannot_read_another_document(probed: dict[str, Any]) -> None:
    assert probed["document"] == {"python": "PermissionError", "native": "PermissionError"}
