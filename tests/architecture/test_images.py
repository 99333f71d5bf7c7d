"""What the container images install is what everything else runs on, and each deployable package has its image."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "deploy/images/requirements"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PACKAGES = {*(folder.name for folder in (ROOT / "services").iterdir() if folder.is_dir()), "cli", "sandbox"}


@pytest.mark.parametrize(
    ("image", "hashes"),
    [*((package, "requirements.txt") for package in sorted(PACKAGES)), ("build", "requirements-dev.txt")],
)
def test_an_image_installs_the_versions_whose_hashes_are_pinned(image: str, hashes: str) -> None:
    pinned = set(re.findall(r"^([a-z0-9.-]+==[^ ]+)", (ROOT / hashes).read_text(), re.MULTILINE))
    installed = set(
        re.findall(r"^([a-z0-9.-]+)(?:\[.*?\])?(==[^ \n]+)", (LISTS / f"{image}.txt").read_text(), re.MULTILINE)
    )
    assert {name + version for name, version in installed} - pinned == set(), "run `make lock`"
    assert installed


def test_each_deployable_package_has_a_stage_in_the_dockerfile() -> None:
    stages = set(re.findall(r"^FROM runtime AS (\S+)$", DOCKERFILE, re.MULTILINE))
    assert stages == PACKAGES


def test_the_build_script_builds_each_image() -> None:
    listed = re.search(r"^all=\((.*)\)$", (ROOT / "deploy/images/build-images.sh").read_text(), re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split()) == PACKAGES


def test_the_chart_takes_the_images_by_the_names_that_the_build_script_gives() -> None:
    script = (ROOT / "deploy/images/build-images.sh").read_text()
    built = re.search(r"^prefix=\$\{PREFIX:-([a-z]+)\}", script, re.MULTILINE)
    assert built is not None
    values = yaml.safe_load((ROOT / "deploy/helm/mailroom/values.yaml").read_text())
    assert values["image"]["repository"] == f"{built[1]}/{{service}}"


def test_an_image_runs_as_an_ordinary_user_that_has_a_number() -> None:
    """A stage may make something as root, but does not end so."""
    users = {stage.split()[0]: re.findall(r"^USER (.*)$", stage, re.MULTILINE) for stage in DOCKERFILE.split("\nFROM ")}
    assert {found[-1] for found in users.values() if found} == {"10001:10001"}
    assert DOCKERFILE.split("\nFROM ${PYTHON_IMAGE} AS runtime\n")[1].split("\nFROM ")[0].count("\nUSER ") == 1
