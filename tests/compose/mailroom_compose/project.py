"""The site of docker-compose.yml as a project of its own, beside whatever else runs on this host."""

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from mailroom_compose.compose_file import Service, build_override, read_services
from mailroom_compose.containers import PROJECT_LABEL, Container, read_containers
from mailroom_compose.engines import COMPOSE_FILE, CommandFailed, Engine

# Not `mailroom`: what a developer has in those volumes is not ours to remove.
NAME = "mailroom-compose-test"
PROFILES = ("demo", "observability", "tools")
_JOB_ON_REQUEST = "api-key"
_POLL_S = 0.5
_COME_BACK_S = 30.0
_HEALTHY_S = 240.0


@dataclass(frozen=True, slots=True)
class Restart:
    """`by_engine` is False where its restart policy brought nothing back and the test started the container."""

    by_engine: bool
    back_s: float
    healthy_s: float


class Project:
    """`services` are those that are started; `left_out` those that cannot be, with the reason."""

    def __init__(self, engine: Engine, state: Path) -> None:
        self._engine = engine
        self._state = state
        self._files = [COMPOSE_FILE]
        described = read_services(yaml.safe_load(self._compose("config")), PROFILES)
        if not engine.has_timers:
            override = state / "without-timers.yml"
            override.write_text(yaml.safe_dump(build_override(described)))
            self._files.append(override)
        self.left_out = self._find_left_out(described)
        self.services = {name: one for name, one in described.items() if name not in {*self.left_out, _JOB_ON_REQUEST}}

    def _find_left_out(self, services: dict[str, Service]) -> dict[str, str]:
        """Raises CommandFailed for an image that Mailroom cannot do without."""
        if self._engine.pulls_images:
            return {}
        missing = {one.name: one.image for one in services.values() if not self._engine.has_image(one.image)}
        required = {name: image for name, image in missing.items() if "observability" not in services[name].profiles}
        if required:
            names = ", ".join(sorted(set(required.values())))
            raise CommandFailed(
                f"{self._engine.name} has no image {names}: `make images` builds ours; the others come from a registry"
                f" (`{self._engine.name} pull`), or `make stand-ins` makes what stands in for them"
            )
        return {name: f"there is no image {image} here" for name, image in missing.items()}

    def start(self) -> None:
        self._compose("up", "--detach", *self.services)

    def stop(self) -> None:
        """As an operator would; volumes stay. Raises CommandFailed for containers that stay, too."""
        self._compose("down")
        if left := self.find_containers():
            raise CommandFailed(f"`down` left {', '.join(left)}")

    def remove(self) -> list[str]:
        """With all that is in its volumes. Returns what is left of it nevertheless."""
        self._compose("down", "--volumes")
        return [
            f"{kind} {name}"
            for kind in ("container", "volume", "network")
            for name in self._engine.run(kind, "ls", *_of_project(), *_LISTINGS[kind]).split()
        ]

    def read_api_key(self) -> str:
        return self._compose("run", "--rm", "--no-deps", "-T", _JOB_ON_REQUEST).split()[-1]

    def copy_file(self, service: str, path: str, target: Path) -> None:
        self._engine.run("cp", f"{self.find_containers()[service].name}:{path}", str(target))

    def find_containers(self) -> dict[str, Container]:
        ids = self._engine.run("ps", "--all", "--quiet", *_of_project()).split()
        return read_containers(json.loads(self._engine.run("inspect", *ids))) if ids else {}

    def is_healthy(self, container: Container) -> bool:
        """Where nothing checks, running is all that is asked."""
        if not container.is_running or not self.services[container.service].has_health_check:
            return container.is_running
        if self._engine.has_timers:
            return container.health == "healthy"
        return self._succeeds("healthcheck", "run", container.name)

    def execute(self, service: str, *command: str) -> str:
        return self._engine.run("exec", self.find_containers()[service].name, *command)

    def wait_until_healthy(self, services: Sequence[str], within_s: float = _HEALTHY_S) -> None:
        """Raises TimeoutError that names those which are not."""
        deadline = time.monotonic() + within_s
        waiting = list(services)
        while True:
            containers = self.find_containers()
            waiting = [name for name in waiting if name not in containers or not self.is_healthy(containers[name])]
            if not waiting:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"not healthy after {within_s:.0f} s: {', '.join(waiting)}")
            time.sleep(_POLL_S)

    def wait_until_ended(self, service: str, within_s: float) -> Container:
        deadline = time.monotonic() + within_s
        while (container := self.find_containers()[service]).is_running:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{service} has not ended after {within_s:.0f} s")
            time.sleep(_POLL_S)
        return container

    def kill(self, service: str) -> Restart:
        """Its first process by SIGKILL, as when it crashes: an engine's own `kill` counts as a stop that was wanted."""
        before = self.find_containers()[service]
        os.kill(before.pid, signal.SIGKILL)
        killed_s = time.monotonic()
        by_engine = self._comes_back(before)
        if not by_engine:
            self._engine.run("start", before.name)
        back_s = time.monotonic() - killed_s
        self.wait_until_healthy([service])
        return Restart(by_engine, back_s, time.monotonic() - killed_s)

    def save_logs(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ids = self._engine.run("ps", "--all", "--quiet", *_of_project()).split()
        if ids:
            (folder / "containers.json").write_text(self._engine.run("inspect", *ids))
        for container in self.find_containers().values():
            self._engine.write_logs(container.name, folder / f"{container.service}.log")

    def _comes_back(self, before: Container) -> bool:
        deadline = time.monotonic() + _COME_BACK_S
        while time.monotonic() < deadline:
            now = self.find_containers()[before.service]
            if now.is_running and now.pid not in {0, before.pid}:
                return True
            time.sleep(_POLL_S)
        return False

    def _succeeds(self, *arguments: str) -> bool:
        try:
            self._engine.run(*arguments)
        except CommandFailed:
            return False
        return True

    def _compose(self, command: str, *arguments: str) -> str:
        files = [f"--file={file}" for file in self._files]
        profiles = [f"--profile={profile}" for profile in PROFILES]
        return self._engine.run_compose("--project-name", NAME, *files, *profiles, command, *arguments)


# What prints the names alone.
_LISTINGS = {
    "container": ("--all", "--format={{.Names}}"),
    "volume": ("--quiet",),
    "network": ("--format={{.Name}}",),
}


def _of_project() -> tuple[str, str]:
    return "--filter", f"label={PROJECT_LABEL}={NAME}"
