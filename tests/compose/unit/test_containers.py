"""Docker and podman say the same of a container in slightly other words."""

from typing import Any

from mailroom_compose.containers import read_containers

STATE: dict[str, Any] = {"Status": "running", "Pid": 41, "ExitCode": 0}


def inspected(name: str, **state: Any) -> dict[str, Any]:
    return {"Name": name, "State": {**STATE, **state}, "Config": {"Labels": {"com.docker.compose.service": "kafka"}}}


def test_name_and_health_are_read_as_docker_has_them() -> None:
    kafka = read_containers([inspected("/site-kafka-1", Health={"Status": "healthy"})])["kafka"]
    assert (kafka.name, kafka.pid, kafka.is_running, kafka.health) == ("site-kafka-1", 41, True, "healthy")


def test_name_and_health_are_read_as_podman_has_them() -> None:
    kafka = read_containers([inspected("site_kafka_1", Healthcheck={"Status": "starting"})])["kafka"]
    assert (kafka.name, kafka.health) == ("site_kafka_1", "starting")


def test_only_an_end_with_0_is_a_good_one() -> None:
    def has_ended_well(**state: Any) -> bool:
        return read_containers([inspected("kafka", **state)])["kafka"].has_ended_well

    assert has_ended_well(Status="exited", Pid=0)
    assert not has_ended_well(Status="exited", Pid=0, ExitCode=1)
    assert not has_ended_well()
