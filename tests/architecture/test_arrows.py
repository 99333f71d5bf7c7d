"""The arrows of the code: which rooms may know of which (docs/architecture.md, style)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = {
    "webhook_gateway": ROOT / "services/webhook-gateway/src/webhook_gateway",
    "sync_engine": ROOT / "services/sync-engine/src/sync_engine",
    "ingestion": ROOT / "services/ingestion/src/ingestion",
    "subscription_manager": ROOT / "services/subscription-manager/src/subscription_manager",
}
# What a domain module must not reach for: anything that does I/O, and the clock by way of it.
DOORS_TO_THE_WORLD = {
    "aiokafka",
    "asyncio",
    "asyncpg",
    "fastapi",
    "faust",
    "httpx",
    "os",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
}


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules_in(*rooms: Path) -> list[Path]:
    return sorted(file for room in rooms for file in room.rglob("*.py"))


def found(modules: list[Path], forbidden: set[str]) -> list[str]:
    """`file imports name` for each import of a forbidden module or of anything inside it."""
    return [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules
        for name in imports_of(file)
        if any(name == bad or name.startswith(bad + ".") for bad in forbidden)
    ]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_imports_no_other_service(service: str) -> None:
    modules = modules_in(SERVICES[service])
    assert modules
    assert found(modules, (SERVICES.keys() - {service}) | {"mailroom_sandbox", "mailroom_cli"}) == []


def test_the_common_library_and_the_cli_import_no_service() -> None:
    modules = modules_in(ROOT / "libs/common/src", ROOT / "cli/src")
    assert modules
    assert found(modules, set(SERVICES) | {"mailroom_sandbox"}) == []


def test_the_sandbox_meets_the_services_only_as_processes() -> None:
    modules = modules_in(ROOT / "sandbox/src")
    assert modules
    assert found(modules, set(SERVICES)) == []


@pytest.mark.parametrize("service", SERVICES)
def test_domain_types_are_free_of_io_and_of_the_clock(service: str) -> None:
    modules = modules_in(SERVICES[service] / "domain")
    outward = {f"{service}.{room}" for room in ("adapters", "handlers", "api", "app", "settings")}
    assert found(modules, DOORS_TO_THE_WORLD | outward) == []


@pytest.mark.parametrize("service", SERVICES)
def test_handlers_know_ports_and_domain_but_no_adapter(service: str) -> None:
    modules = modules_in(SERVICES[service] / "handlers")
    outward = {f"{service}.{room}" for room in ("adapters", "api", "app")}
    assert found(modules, outward | {"asyncpg", "aiokafka", "httpx", "fastapi"}) == []


@pytest.mark.parametrize("service", SERVICES)
def test_adapters_hold_no_use_cases(service: str) -> None:
    modules = modules_in(SERVICES[service] / "adapters")
    outward = {f"{service}.{room}" for room in ("handlers", "api", "app")}
    assert found(modules, outward) == []
