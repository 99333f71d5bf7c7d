import pytest

from mailroom_sandbox.testkit.container_stack import find_image
from mailroom_sandbox.testkit.pytest_plugin import runs_in_containers


def test_tests_take_the_images_that_the_compose_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, image in (
        ("KAFKA_IMAGE", "apache/kafka:"),
        ("POSTGRES_IMAGE", "postgres:"),
        ("S3_IMAGE", "versity/"),
    ):
        monkeypatch.delenv(variable, raising=False)
        assert find_image(variable).startswith(image)
        monkeypatch.setenv(variable, "registry.example/own:1")
        assert find_image(variable) == "registry.example/own:1"


def test_a_variable_that_the_compose_file_does_not_know_is_said() -> None:
    with pytest.raises(RuntimeError, match="no image by NO_SUCH_IMAGE"):
        find_image("NO_SUCH_IMAGE")


@pytest.mark.parametrize(("stack", "expected"), [("", False), ("embedded", False), ("containers", True)])
def test_servers_come_from_containers_only_where_that_is_asked_for(
    stack: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAILROOM_TEST_STACK", stack)
    assert runs_in_containers() is expected


def test_another_stack_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_TEST_STACK", "container")
    with pytest.raises(pytest.UsageError, match="MAILROOM_TEST_STACK=container"):
        runs_in_containers()
