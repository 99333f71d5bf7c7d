"""What the engine says of the containers of a project, the same for Docker and podman. No I/O here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SERVICE_LABEL = "com.docker.compose.service"
PROJECT_LABEL = "com.docker.compose.project"


@dataclass(frozen=True, slots=True)
class Container:
    """`pid` is that of its first process on this host, 0 when there is none; `health` is empty where nothing checks."""

    service: str
    name: str
    is_running: bool
    pid: int
    exit_code: int
    health: str

    @property
    def has_ended_well(self) -> bool:
        return not self.is_running and self.exit_code == 0


def read_containers(inspected: Iterable[Mapping[str, Any]]) -> dict[str, Container]:
    """By service, of what `inspect` prints."""
    found = (_read_container(one) for one in inspected)
    return {container.service: container for container in found}


def _read_container(inspected: Mapping[str, Any]) -> Container:
    state = inspected["State"]
    health = state.get("Health") or state.get("Healthcheck") or {}
    return Container(
        service=inspected["Config"]["Labels"][SERVICE_LABEL],
        name=inspected["Name"].lstrip("/"),  # Docker's has one
        is_running=state["Status"] == "running",
        pid=state["Pid"],
        exit_code=state["ExitCode"],
        health=health.get("Status") or "",
    )
