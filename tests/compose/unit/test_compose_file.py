"""What the test takes from docker-compose.yml: who is started, who is killed, who has to end."""

from pathlib import Path
from typing import Any

import yaml
from mailroom_compose.compose_file import build_override, order_kills, read_services

CONFIG: dict[str, Any] = yaml.safe_load((Path(__file__).parents[3] / "docker-compose.yml").read_text())
SERVICES = read_services(CONFIG, ("demo", "observability"))


def test_a_service_of_another_profile_is_not_started() -> None:
    assert "api-key" not in SERVICES
    assert "api-key" in read_services(CONFIG, ("tools",))
    assert {"kafka", "demo", "grafana"} <= SERVICES.keys()


def test_a_service_that_is_not_restarted_after_it_ended_well_is_a_job() -> None:
    jobs = {name for name, service in SERVICES.items() if service.is_job}
    assert jobs == {"identities", "blob-access", "topics", "migrate", "demo"}


def test_every_container_of_an_operator_is_killed_once_and_the_order_is_the_seeds() -> None:
    order = order_kills(7, SERVICES)
    assert order == order_kills(7, SERVICES)
    assert order != order_kills(8, SERVICES)
    around = {"identities", "blob-access", "topics", "migrate", "demo", "provider-doubles", "prometheus", "grafana"}
    assert sorted(order) == sorted(SERVICES.keys() - around)


def test_without_timers_each_health_check_is_left_to_the_test() -> None:
    override = build_override(SERVICES)["services"]
    assert {"kafka", "postgres", "sync-worker"} <= override.keys()
    assert "grafana" not in override  # has none
    assert override["kafka"] == {"healthcheck": {"interval": "disable"}}
