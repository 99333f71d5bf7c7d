"""Who may import whom (docs/architecture.md): services apart, domain without I/O, adapters behind their ports."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from code_rules import (
    SERVICES,
    find_adapters_known_outside_app,
    find_common_modules_of_one_user,
    find_import_circles,
    find_package_circles,
    find_provider_packages_known_outside_app,
    find_provider_words,
    read_code_base,
)

ROOT = Path(__file__).parents[2]
# What a domain module must not reach for: whatever does I/O or reads the clock.
IO_MODULES = {
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
# Two services parse, and only one takes files apart; the ports have one consumer each, by design.
COMMON_FOR_ONE_SERVICE = ("mailroom_common.parser", "mailroom_common.providers.ports")


def find_imports(area: str, forbidden: set[str]) -> list[str]:
    """`module imports name` for each import, by a module of the area, of a forbidden name or of anything inside it."""
    modules = [module for module in read_code_base(ROOT).modules.values() if f"{module.name}.".startswith(f"{area}.")]
    assert modules, f"there is no module in {area}"
    return [
        f"{module.name} imports {name}"
        for module in modules
        for name in sorted(module.imported_names)
        if any(f"{name}.".startswith(f"{bad}.") for bad in forbidden)
    ]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_imports_no_other_service(service: str) -> None:
    assert find_imports(service, (SERVICES.keys() - {service}) | {"mailroom_sandbox", "mailroom_cli"}) == []


@pytest.mark.parametrize("package", ["mailroom_common", "mailroom_cli"])
def test_the_common_library_and_the_cli_import_no_service(package: str) -> None:
    assert find_imports(package, set(SERVICES) | {"mailroom_sandbox"}) == []


def test_the_sandbox_meets_the_services_only_as_processes() -> None:
    assert find_imports("mailroom_sandbox", set(SERVICES)) == []


@pytest.mark.parametrize("service", SERVICES)
def test_domain_types_are_free_of_io_and_of_the_clock(service: str) -> None:
    outward = {f"{service}.{folder}" for folder in ("adapters", "handlers", "api", "app", "settings")}
    assert find_imports(f"{service}.domain", IO_MODULES | outward) == []


@pytest.mark.parametrize("service", SERVICES)
def test_handlers_know_ports_and_domain_but_no_adapter(service: str) -> None:
    outward = {f"{service}.{folder}" for folder in ("adapters", "api", "app")}
    assert find_imports(f"{service}.handlers", outward | {"asyncpg", "aiokafka", "httpx", "fastapi"}) == []


@pytest.mark.parametrize("service", SERVICES)
def test_adapters_hold_no_use_cases(service: str) -> None:
    outward = {f"{service}.{folder}" for folder in ("handlers", "api", "app")}
    assert find_imports(f"{service}.adapters", outward) == []


def test_adapters_are_known_to_composition_roots_alone() -> None:
    assert find_adapters_known_outside_app(read_code_base(ROOT)) == []


def test_provider_packages_are_known_to_composition_roots_alone() -> None:
    assert find_provider_packages_known_outside_app(read_code_base(ROOT)) == []


def test_services_name_no_provider_outside_their_composition_roots() -> None:
    assert find_provider_words(read_code_base(ROOT)) == []


def test_files_of_a_package_do_not_import_each_other() -> None:
    assert find_import_circles(read_code_base(ROOT)) == []


def test_packages_of_the_common_library_do_not_import_each_other() -> None:
    assert find_package_circles(read_code_base(ROOT)) == []


def test_the_common_library_holds_what_two_services_use() -> None:
    assert find_common_modules_of_one_user(read_code_base(ROOT), COMMON_FOR_ONE_SERVICE) == []


def test_the_gateway_loads_no_database_driver() -> None:
    program = "import sys, webhook_gateway.__main__, webhook_gateway.app; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "aiokafka" in loaded.stdout.split()
    assert "asyncpg" not in loaded.stdout.split()


def test_kafka_clients_are_made_in_one_place() -> None:
    """There they get TLS, password and certificate; one that is made elsewhere works only where nothing is asked."""
    made = re.compile(r"\bAIOKafka(Consumer|Producer|AdminClient)\(")
    folders = [*(folder for kind in ("libs/*/src", "services/*/src", "*/src", "bench") for folder in ROOT.glob(kind))]
    makers = {path.name for folder in folders for path in folder.rglob("*.py") if made.search(path.read_text())}
    assert makers == {"client.py"}


# What a paper is, whose it is, what it comes to, when it is due: each asks only those before it.
RULES_IN_ORDER = ("titles", "parties", "amounts", "days", "trades")


@pytest.mark.parametrize("package", RULES_IN_ORDER)
def test_rules_ask_only_those_that_come_before_them(package: str) -> None:
    later = RULES_IN_ORDER[RULES_IN_ORDER.index(package) + 1 :]
    assert find_imports(f"ingestion.extract.{package}", {f"ingestion.extract.{name}" for name in later}) == []
