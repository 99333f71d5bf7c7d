"""Which container engine runs the test, and the commands that it takes."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
COMPOSE_FILE = CHECKOUT / "docker-compose.yml"
_TOOLS = CHECKOUT / ".venv" / "tools" / "podman-compose"
_REQUIREMENTS = Path(__file__).parents[1] / "requirements-tools.txt"
_COMMAND_S = 900


class CommandFailed(Exception):
    """Its text is the command with what it printed last."""


@dataclass(frozen=True, slots=True)
class Engine:
    """`pulls_images` says whether a missing one is fetched, `has_timers` whether it runs health checks by itself."""

    name: str
    compose: tuple[str, ...]
    pulls_images: bool = True
    has_timers: bool = True
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, check: bool = True, timeout_s: float = _COMMAND_S) -> str:
        return run_command([self.name, *arguments], self.environment, check=check, timeout_s=timeout_s)

    def run_compose(self, *arguments: str) -> str:
        return run_command([*self.compose, *arguments], self.environment)

    def write_logs(self, container: str, file: Path) -> None:
        with file.open("wb") as log:
            command = [self.name, "logs", container]
            subprocess.run(
                command, env={**os.environ, **self.environment}, stdout=log, stderr=log, check=False, timeout=60
            )

    def has_image(self, image: str) -> bool:
        return bool(self.run("image", "inspect", "--format={{.Id}}", image, check=False).strip())


def run_command(
    command: list[str], environment: dict[str, str], *, check: bool = True, timeout_s: float = _COMMAND_S
) -> str:
    """What it printed. Raises CommandFailed unless it ends with 0, or `check` is False."""
    ended = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    if check and ended.returncode != 0:
        said = "\n".join(f"{ended.stderr}{ended.stdout}".splitlines()[-15:])
        raise CommandFailed(f"`{' '.join(command)}` ended with {ended.returncode}: {said}")
    return ended.stdout


def find_engine() -> Engine:
    """Docker where its server answers, else podman with podman-compose."""
    if _answers(["docker", "info"]) and _answers(["docker", "compose", "version"]):
        return Engine("docker", ("docker", "compose"))
    if shutil.which("podman") is None:
        raise CommandFailed("no container engine answers here: start Docker with its compose plugin, or install podman")
    _fetch_podman_compose()
    environment = {
        "CONTAINERS_CONF": os.environ.get("CONTAINERS_CONF", str(CHECKOUT / "deploy/images/containers.conf")),
        "PYTHONPATH": str(_TOOLS),
    }
    # Docker knows no pods.
    compose = (sys.executable, "-m", "podman_compose", "--in-pod=false")
    has_timers = Path("/run/systemd/system").is_dir()
    return Engine("podman", compose, pulls_images=False, has_timers=has_timers, environment=environment)


def _answers(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    except FileNotFoundError:
        return False


def _fetch_podman_compose() -> None:
    fetched = _TOOLS / _REQUIREMENTS.name
    if fetched.exists() and fetched.read_text() == _REQUIREMENTS.read_text():
        return
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--upgrade"]
    requirements = ["--no-deps", "--require-hashes", "--requirement", str(_REQUIREMENTS)]
    run_command([*pip, *requirements, "--target", str(_TOOLS)], {})
    shutil.copy(_REQUIREMENTS, fetched)
