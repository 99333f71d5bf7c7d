"""What docker-compose.yml says of each container, as far as the test needs it. No I/O here."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_JOB_RESTARTS = {"no", "on-failure"}


@dataclass(frozen=True, slots=True)
class Service:
    """`is_job` ends by itself, with 0; every other one is to run until it is stopped."""

    name: str
    image: str
    profiles: frozenset[str]
    is_job: bool
    has_health_check: bool


def read_services(config: Mapping[str, Any], profiles: Collection[str]) -> dict[str, Service]:
    """Those that `--profile` starts, of what `compose config` prints."""
    found = {name: _read_service(name, described) for name, described in config["services"].items()}
    return {name: one for name, one in found.items() if not one.profiles or one.profiles & set(profiles)}


def _read_service(name: str, described: Mapping[str, Any]) -> Service:
    return Service(
        name=name,
        image=str(described["image"]),
        profiles=frozenset(described.get("profiles", ())),
        is_job=described.get("restart", "no") in _JOB_RESTARTS,
        has_health_check="healthcheck" in described,
    )


def order_kills(seed: int, services: Mapping[str, Service]) -> list[str]:
    """Everything that runs at an operator's; what only a profile brings is beside Mailroom."""
    names = sorted(name for name, service in services.items() if not service.is_job and not service.profiles)
    random.Random(seed).shuffle(names)
    return names


def build_override(services: Mapping[str, Service]) -> dict[str, Any]:
    """Podman starts health checks by systemd's timers; without systemd no container that has one would start."""
    checked = [service.name for service in services.values() if service.has_health_check]
    return {"services": {name: {"healthcheck": {"interval": "disable"}} for name in checked}}
