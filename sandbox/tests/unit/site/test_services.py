import importlib.util

from mailroom_sandbox.site.services import SERVICES


def test_every_process_of_the_design_is_there_once_and_can_be_started() -> None:
    commands = [" ".join(service.command[1:]) for service in SERVICES]
    assert sorted(commands) == [
        "-m ingestion api",
        "-m ingestion worker",
        "-m subscription_manager",
        "-m sync_engine api",
        "-m sync_engine coalescer",
        "-m sync_engine worker",
        "-m webhook_gateway",
    ]
    assert all(importlib.util.find_spec(f"{service.module}.__main__") for service in SERVICES)


def test_no_two_services_share_a_name_or_a_route() -> None:
    routes = [route for service in SERVICES for route in service.routes]
    assert len(set(routes)) == len(routes)
    assert len({service.name for service in SERVICES}) == len(SERVICES)
