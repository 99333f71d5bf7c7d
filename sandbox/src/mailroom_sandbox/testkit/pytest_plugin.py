"""Pytest plugin: a real Kafka and a real Postgres for the session, and what holds for every test.

`MAILROOM_TEST_KAFKA` and `MAILROOM_TEST_DATABASE_URL` name servers that run already; without them private ones are
started in a temporary folder and are gone with the session, or in containers with `MAILROOM_TEST_STACK=containers`.
Topics and groups are shared, by the processes of a run too: tests take a random prefix. Each process has a Postgres of
its own, since all sessions of a server are seen by who looks for one.
"""

import asyncio
import gc
import os
import secrets
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck, settings

from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.class_archive import provide_class_archive
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import QUICK_CLEANING, Kafka
from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.site.stack.postgres import Postgres
from mailroom_sandbox.testkit.coverage_pause import measure_imports_alone, pause_coverage
from mailroom_sandbox.testkit.module_order import order_modules
from mailroom_sandbox.testkit.shared_server import SharedServer, ask_for_address

T = TypeVar("T")

_KAFKA_ENDPOINT = "mailroom_kafka"  # what a process that runs tests is told under this name

# Packages whose coverage is measured ...
_PRODUCT = (
    *("mailroom_common", "mailroom_outlook", "mailroom_gmail"),
    *("webhook_gateway", "sync_engine", "ingestion", "subscription_manager"),
)
# ... and folders of tests that run them in their own process.
_MEASURED = ("libs/", "services/", "tests/contract/", "tests/e2e/")

# No property fails because the machine is slow.
settings.register_profile("mailroom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mailroom")


def pytest_configure(config: pytest.Config) -> None:
    """Only the tests' own processes are measured: coverage adds two fifths to the CPU of starting a service as one."""
    starts_workers = config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ
    if starts_workers:
        config.pluginmanager.register(_SharedKafka(), "mailroom-shared-kafka")
    else:
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    _log_plain_tracebacks()


class _SharedKafka:
    """In the process that hands out the tests: one broker for all that run them."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mailroom-stack-")
        folder = Path(self._folder.name)
        self._server = SharedServer(folder / "kafka.sock", lambda: _running_kafka(folder))

    def pytest_configure_node(self, node: Any) -> None:  # Any: xdist has no types
        node.workerinput[_KAFKA_ENDPOINT] = self._server.endpoint

    def pytest_unconfigure(self) -> None:
        self._server.close()
        self._folder.cleanup()


def _log_plain_tracebacks() -> None:
    """structlog's default prints the variables of each frame, which can take seconds of a test's patience."""
    *processors, _ = structlog.get_config()["processors"]
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*processors, renderer])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What is not measured runs without the tracer, a quarter of its CPU."""
    if item.nodeid.startswith(_MEASURED):
        return (yield)
    with pause_coverage():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests are collected without looking for garbage among them, half the CPU; they all stay."""
    gc.disable()
    try:
        with measure_imports_alone(_PRODUCT):
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the modules; one alone takes them as they lie."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    of_module: dict[PurePath, list[pytest.Item]] = {}
    for item in items:
        of_module.setdefault(PurePath(item.nodeid.partition("::")[0]), []).append(item)
    items[:] = [item for path in order_modules(of_module) for item in of_module[path]]


def runs_in_containers() -> bool:
    """Testcontainers is imported by who asks for it only: it talks to the engine as soon as it is."""
    stack = os.environ.get("MAILROOM_TEST_STACK") or "embedded"
    if stack not in ("embedded", "containers"):
        raise pytest.UsageError(f"MAILROOM_TEST_STACK={stack}: there are `embedded` and `containers`")
    return stack == "containers"


@pytest.fixture(scope="session")
def kafka_bootstrap(request: pytest.FixtureRequest, _stack_folder: Path) -> Iterator[str]:
    given = os.environ.get("MAILROOM_TEST_KAFKA")
    if given:
        yield given
        return
    shared: tuple[str, bytes] | None = getattr(request.config, "workerinput", {}).get(_KAFKA_ENDPOINT)
    if shared is not None:
        yield ask_for_address(shared)
        return
    with _running_kafka(_stack_folder) as bootstrap:
        yield bootstrap


@contextmanager
def _running_kafka(folder: Path) -> Iterator[str]:
    if runs_in_containers():
        from mailroom_sandbox.testkit.container_stack import kafka_container  # see runs_in_containers

        with kafka_container(folder / "kafka") as bootstrap:
            yield bootstrap
        return
    jar_folder = _run_to_end(jars.provide_jars(find_home().jars))
    _run_to_end(provide_class_archive(jar_folder))
    port = free_port()
    kafka = Kafka(
        folder / "kafka",
        jar_folder,
        port=port,
        controller_port=free_port(avoid=[port]),
        log=folder / "kafka.log",
        extra_settings=QUICK_CLEANING,
    )
    kafka.start()
    try:
        _run_to_end(kafka.wait_until_ready())
        yield kafka.bootstrap
    finally:
        _run_to_end(kafka.stop())


@pytest.fixture(scope="session")
def postgres_server_url(_stack_folder: Path) -> Iterator[str]:
    given = os.environ.get("MAILROOM_TEST_DATABASE_URL")
    if given:
        yield given
        return
    if runs_in_containers():
        from mailroom_sandbox.testkit.container_stack import postgres_container

        with postgres_container() as url:
            yield url
        return
    postgres = Postgres(
        _stack_folder / "postgres",
        port=free_port(),
        password=secrets.token_urlsafe(16),
        log=_stack_folder / "postgres.log",
        durable=False,
    )
    postgres.start()
    try:
        _run_to_end(postgres.wait_until_ready())
        yield postgres.server_url
    finally:
        _run_to_end(postgres.stop())


@pytest.fixture(scope="module")
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """A database of the test module's own, dropped afterwards whoever is still connected."""
    name = f"test_{secrets.token_hex(6)}"
    _run_to_end(_execute_sql(postgres_server_url, f"create database {name}"))
    yield urlsplit(postgres_server_url)._replace(path=f"/{name}").geturl()
    _run_to_end(_execute_sql(postgres_server_url, f"drop database {name} with (force)"))


@pytest.fixture(scope="session")
def _stack_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mailroom-stack-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # Postgres may have to run as nobody, who must be able to come here
        yield folder


async def _execute_sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _run_to_end(task: Coroutine[Any, Any, T]) -> T:
    """Runs to the end on a loop of its own, in a thread: the main thread's loop belongs to the tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, task).result()
