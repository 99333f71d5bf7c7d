"""A whole site on this machine, from the lock to the last process that ends.

The order of a start: lock, ports, Kafka and Postgres, topics and migrations, services, reverse proxy, endpoints.json.
The order of a stop is the reverse, within 20 seconds whatever hangs.
"""

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from rich.console import Console

from mailroom_common.errors import Fatal
from mailroom_common.settings import KafkaSettings
from mailroom_sandbox.site import environment as environments
from mailroom_sandbox.site.endpoints import Endpoints, EndpointsFile
from mailroom_sandbox.site.environment import SiteEnvironment
from mailroom_sandbox.site.reverse_proxy.api_pages import APIPages
from mailroom_sandbox.site.reverse_proxy.forwarding import ReverseProxy
from mailroom_sandbox.site.reverse_proxy.listener import listen_on_port
from mailroom_sandbox.site.services import SERVICES, Service
from mailroom_sandbox.site.settings_classes import CLI_MODULE, SettingsClasses, list_settings_classes
from mailroom_sandbox.site.stack import ca, child, jars, ports
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home, require_current_state
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.kafka_security import prepare_broker_security
from mailroom_sandbox.site.stack.postgres import Postgres
from mailroom_sandbox.site.stack.postgres_security import prepare_database_security
from mailroom_sandbox.site.stack.postgres_tls import serve_tls
from mailroom_sandbox.site.supervisor import Program, Supervisor

READY_S = 180
# A service ends within 8 s by its own deadline; together with the stack below it all is down within 20.
SERVICES_GRACE_S = 9.0
STACK_GRACE_S = 6.0
_IMPATIENT_AFTER_S = 1.0
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Companion:
    """A process beside the services that has to answer before they are started: the sandbox's providers."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    ready_url: str
    port_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SitePlan:
    """What to run. `environment` is the site's own; what it lacks is made up (`environment.compose_environment`).

    `is_secure`: the servers that are started here ask for TLS and a password, and allow each process what it needs.
    """

    home: Home
    environment: Mapping[str, str]
    ports: Mapping[str, int]
    certificates: Certificates
    companion: Companion | None = None
    is_secure: bool = False


def plan_site(
    home: Home, environment: Mapping[str, str], *, more_ports: tuple[str, ...] = (), is_secure: bool = False
) -> SitePlan:
    """Chooses ports and makes certificates, which all that follows refers to. The caller holds the lock.

    Raises:
        Fatal: the home holds a state that this version cannot go on from.
    """
    require_current_state(home)
    names = (*environments.PORT_NAMES, *more_ports)
    chosen = ports.choose_ports(home.ports, names, environments.fixed_ports(environment))
    certificates = ca.load_or_create_certificates(home.tls)
    return SitePlan(home, environment, {name: chosen[name] for name in names}, certificates, is_secure=is_secure)


def compose_planned_environment(plan: SitePlan) -> SiteEnvironment:
    """As the services will have it; servers still to be started have the addresses that they will listen on."""
    kafka = None if "MAILROOM_KAFKA_BOOTSTRAP" in plan.environment else f"127.0.0.1:{plan.ports['kafka']}"
    has_database = environments.names_setting(plan.environment, "MAILROOM_DATABASE_URL")
    database = None if has_database else f"postgresql://127.0.0.1:{plan.ports['postgres']}"
    return environments.compose_environment(plan.environment, plan.home, plan.ports, kafka=kafka, database=database)


async def run_site(plan: SitePlan, console: Console, job: Callable[[Endpoints], Awaitable[int]]) -> int:
    """Starts everything, does the job, and stops everything; returns the job's exit code, 0 when it was interrupted.

    Raises:
        Fatal: something could not be started or kept running; everything is stopped then, too.
    """
    file = EndpointsFile(plan.home.endpoints)
    file.remove_file()  # a run that was killed leaves its own
    supervisor = Supervisor(on_change=file.update_pids, on_death=partial(_print_death, console))
    site = _Site(plan, console, file, supervisor)
    with _handle_interrupts(supervisor) as interrupted:
        try:
            return await _run_until_interrupted(site.serve_job(job), interrupted, supervisor)
        finally:
            file.remove_file()
            with console.status("stopping …"):
                await site.stop_site()


async def _run_until_interrupted(work: Awaitable[int], interrupted: asyncio.Event, supervisor: Supervisor) -> int:
    working = asyncio.ensure_future(work)
    interruption = asyncio.create_task(interrupted.wait())
    failure = asyncio.create_task(supervisor.wait_for_failure())
    waiting = {working, interruption, failure}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if failure.done():
            await failure
        return await working if working.done() else 0
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


class _Site:
    def __init__(self, plan: SitePlan, console: Console, file: EndpointsFile, supervisor: Supervisor) -> None:
        self._plan = plan
        self._console = console
        self._file = file
        self._supervisor = supervisor
        self._database_tls: asyncio.Server | None = None

    async def serve_job(self, job: Callable[[Endpoints], Awaitable[int]]) -> int:
        self._require_free(*self._plan.ports)  # a taken port is said before anything is started
        if self._plan.companion:
            self._start_companion(self._plan.companion)  # it needs nothing of the others and is slow to import
        with self._show_step("Kafka and Postgres"):
            kafka, postgres = await self._start_stack()
        site = environments.compose_environment(
            self._plan.environment,
            self._plan.home,
            self._plan.ports,
            kafka=kafka.bootstrap if kafka else None,
            database=postgres.url if postgres else None,
            access=environments.build_site_access(kafka.security if kafka else None, postgres),
            secrets_folder=self._plan.home.secret_files if self._plan.is_secure else None,
        )
        with self._show_step("topics and migrations"):
            acls = ["--acls"] if kafka and kafka.security else []
            roles = ["--create-roles"] if postgres and postgres.security else []
            await asyncio.gather(
                self._run_command(site, "topics", [KafkaSettings], "topics", "apply", *acls),
                self._run_command(site, "migrate", list_settings_classes(CLI_MODULE), "migrate", *roles),
            )
        if self._plan.companion:
            with self._show_step(self._plan.companion.name.replace("_", " ")):
                await self._wait_until_ready({self._plan.companion.name: self._plan.companion.ready_url})
        async with self._run_reverse_proxy():
            with self._show_step("services"):
                await self._start_services(site)
            endpoints = self._build_endpoints(site)
            self._file.publish_endpoints(endpoints)
            return await job(endpoints)

    async def stop_site(self) -> None:
        self._supervisor.resume_all()
        names = [service.name for service in SERVICES]
        if self._plan.companion:
            names.append(self._plan.companion.name)
        await self._supervisor.stop_programs(names, SERVICES_GRACE_S)
        await self._supervisor.stop_programs(["kafka", "postgres"], STACK_GRACE_S)
        if self._database_tls is not None:
            self._database_tls.close()

    async def _start_stack(self) -> tuple[Kafka | None, Postgres | None]:
        """What is started here; None where the environment names a server."""
        given = self._plan.environment
        kafka = None if "MAILROOM_KAFKA_BOOTSTRAP" in given else await self._start_kafka()
        has_database = environments.names_setting(given, "MAILROOM_DATABASE_URL")
        postgres = None if has_database else self._start_postgres()
        if postgres and postgres.security:
            tls = self._plan.certificates.build_server_ssl_context()
            self._database_tls = await serve_tls(postgres.port, postgres.socket, tls)
        await asyncio.gather(*(server.wait_until_ready() for server in (kafka, postgres) if server))
        return kafka, postgres

    async def _start_kafka(self) -> Kafka:
        home, chosen = self._plan.home, self._plan.ports
        log = self._start_log("kafka")
        kafka = Kafka(
            home.kafka,
            await jars.provide_jars(home.jars),
            port=chosen["kafka"],
            controller_port=chosen["kafka_controller"],
            log=log,
            security=prepare_broker_security(home, self._plan.certificates) if self._plan.is_secure else None,
        )
        self._require_free("kafka", "kafka_controller")
        self._supervisor.keep_running(Program("kafka", kafka.start, log))
        return kafka

    def _start_postgres(self) -> Postgres:
        home, log = self._plan.home, self._start_log("postgres")
        postgres = Postgres(
            home.postgres,
            port=self._plan.ports["postgres"],
            password=home.read_or_create_secret("postgres_password"),
            log=log,
            security=prepare_database_security(home, self._plan.certificates) if self._plan.is_secure else None,
        )
        self._require_free("postgres")
        self._supervisor.keep_running(Program("postgres", postgres.start, log, signal.SIGINT))
        return postgres

    async def _run_command(self, site: SiteEnvironment, name: str, kinds: SettingsClasses, *arguments: str) -> None:
        log = self._start_log(name)
        environment = site.build_command_environment(name, kinds)
        command = child.spawn_process(name, [_find_mailroom_command(), *arguments], log=log, environment=environment)
        try:
            code = await command.wait_for_exit()
        finally:
            command.kill_process()
        if code != 0:
            raise Fatal(f"`mailroom {' '.join(arguments)}` failed ({code}):\n{child.read_tail(log)}")

    def _start_companion(self, companion: Companion) -> None:
        self._require_free(*companion.port_names)
        self._keep_running(companion.name, companion.command, companion.environment)

    async def _start_services(self, site: SiteEnvironment) -> None:
        self._require_free(*(service.name for service in SERVICES))
        self._plan.home.blobs.mkdir(parents=True, exist_ok=True)
        for service in SERVICES:
            self._keep_running(service.name, service.command, site.build_service_environment(service, self._plan.ports))
        await self._wait_until_ready({service.name: f"{self._service_url(service)}/readyz" for service in SERVICES})

    def _keep_running(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        log = self._start_log(name)
        start = partial(child.spawn_process, name, command, log=log, environment=environment)
        self._supervisor.keep_running(Program(name, start, log))

    async def _wait_until_ready(self, urls: Mapping[str, str]) -> None:
        """Waits until each answers 200; Fatal with what the missing ones last said."""
        said = dict.fromkeys(urls, "no answer")
        async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
            try:
                async with asyncio.timeout(READY_S):
                    await asyncio.gather(*(_wait_for_answer(client, name, url, said) for name, url in urls.items()))
            except TimeoutError:
                late = ", ".join(f"{name} ({answer})" for name, answer in said.items() if answer)
                raise Fatal(f"not ready after {READY_S} s: {late}; see {self._plan.home.logs}") from None

    @contextlib.asynccontextmanager
    async def _run_reverse_proxy(self) -> AsyncIterator[None]:
        self._require_free("front")
        proxy = ReverseProxy({route: self._service_url(service) for service in SERVICES for route in service.routes})
        tls = self._plan.certificates.build_server_ssl_context()
        try:
            described = {service.name: self._service_url(service) for service in SERVICES if service.routes}
            pages = APIPages(described, proxy)
            async with listen_on_port(pages, port=self._plan.ports["front"], tls=tls):
                yield
        finally:
            await proxy.close()

    def _build_endpoints(self, site: SiteEnvironment) -> Endpoints:
        urls = {service.name: self._service_url(service) for service in SERVICES}
        return Endpoints(
            kafka=site.shared["MAILROOM_KAFKA_BOOTSTRAP"],
            database=site.shared.get("MAILROOM_DATABASE_URL", ""),  # not shown where it came as a file
            public=site.shared["MAILROOM_PUBLIC_URL"],
            gateway=urls["webhook_gateway"],
            subscription_manager=urls["subscription_manager"],
            sync_engine=urls["sync_engine_api"],
            ingestion=urls["ingestion_api"],
            api_key=site.api_key,
            pids=self._supervisor.pids,
        )

    def _service_url(self, service: Service) -> str:
        return f"http://127.0.0.1:{self._plan.ports[service.name]}"

    def _start_log(self, name: str) -> Path:
        log = self._plan.home.logs / f"{name}.log"
        child.rotate_log(log)
        return log

    def _require_free(self, *names: str) -> None:
        chosen = {name: self._plan.ports[name] for name in names}
        hint = f"set MAILROOM_FRONT_PORT to another (front), or remove {self._plan.home.ports} to have new ports chosen"
        ports.require_free_ports(chosen, hint=hint)

    @contextlib.contextmanager
    def _show_step(self, what: str) -> Iterator[None]:
        started_s = time.monotonic()
        with self._console.status(f"starting {what} …"):
            yield
        self._console.print(f"[green]✓[/] {what} [dim]{time.monotonic() - started_s:.1f} s[/]")


async def _wait_for_answer(client: httpx.AsyncClient, name: str, url: str, said: dict[str, str]) -> None:
    while said[name]:
        try:
            answer = await client.get(url)
            said[name] = "" if answer.is_success else answer.text[:200]
        except httpx.TransportError as error:
            said[name] = type(error).__name__
        if said[name]:
            await asyncio.sleep(0.1)


def _find_mailroom_command() -> Path:
    return Path(sys.executable).with_name("mailroom")


def _print_death(console: Console, name: str, code: int) -> None:
    how = signal.Signals(-code).name if code < 0 else f"exit {code}"
    console.print(f"[yellow]{name} ended ({how}) and is started again[/]")


@contextlib.contextmanager
def _handle_interrupts(supervisor: Supervisor) -> Iterator[asyncio.Event]:
    """An event that Ctrl-C, SIGTERM or a closed terminal sets; a later one ends everything at once.

    Nothing is lost by that, by design. One press may arrive twice (the terminal's and make's), hence the pause.
    """
    loop = asyncio.get_running_loop()
    interrupted = asyncio.Event()
    first_at_s = 0.0

    def react() -> None:
        nonlocal first_at_s
        if not interrupted.is_set():
            first_at_s = loop.time()
            interrupted.set()
        elif loop.time() - first_at_s > _IMPATIENT_AFTER_S:
            supervisor.kill_all()

    for number in _INTERRUPTS:
        loop.add_signal_handler(number, react)
    try:
        yield interrupted
    finally:
        for number in _INTERRUPTS:
            loop.remove_signal_handler(number)
