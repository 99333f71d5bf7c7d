"""Processes are killed, frozen and doubled under a whole site: every mail still becomes its documents, each once."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import psutil
import pytest
import pytest_asyncio
from whole_site import PROVIDERS, Site, eventually, mail, pdf, whole_site

from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.stack.ports import free_port

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

ENDS_WITHIN_S = 10
# What a worker that is killed was just reading is taken over after 10 s instead of 30.
ENVIRONMENT = {"MAILROOM_DOCUMENT_LEASE_S": "10"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with whole_site(tmp_path_factory.mktemp("chaos") / "home", environment=ENVIRONMENT) as running:
        yield running


async def test_each_service_killed_in_turn_while_mail_comes_loses_and_doubles_nothing(site: Site) -> None:
    sources = [await site.connect(provider) for provider in PROVIDERS]
    for service in SERVICES:
        for address, _ in sources:
            await site.control.deliver_mail(mail(pdf(service.name), pdf("in every mail")), address)
        await killed_and_back(site, service.name)
    for _, source in sources:
        await site.settled(source, documents=len(SERVICES) + 1, messages=len(SERVICES), within_s=180)


async def test_kafka_and_postgres_killed_lose_and_double_nothing(site: Site) -> None:
    sources = [await site.connect(provider) for provider in PROVIDERS]
    for server in ("kafka", "postgres"):
        for address, _ in sources:
            await site.control.deliver_mail(mail(pdf(server)), address)
        await killed_and_back(site, server)
    for _, source in sources:
        await site.settled(source, documents=2, messages=2, within_s=180)


async def test_pushes_while_kafka_is_frozen_are_delivered_once_it_thaws(site: Site) -> None:
    sources = [await site.connect(provider) for provider in PROVIDERS]
    with frozen(site.running.endpoints.pids["kafka"]):
        for address, _ in sources:
            await site.control.deliver_mail(mail(pdf("into the cold")), address)
        answer = await site.http.get("/doc-sources")
        assert answer.status_code == 200  # what needs no Kafka goes on
        await eventually(lambda: has_refused_pushes(site))
    for _, source in sources:
        await site.settled(source, documents=1, messages=1, within_s=180)


async def test_doubled_workers_make_one_document_of_each_content(site: Site) -> None:
    async with second_copy(site, "sync_engine_worker"), second_copy(site, "ingestion_worker") as second_reader:
        sources = [await site.connect(provider) for provider in PROVIDERS]
        for number in range(4):
            for address, _ in sources:
                same = pdf(f"pair {number // 2}")
                await site.control.deliver_mail(mail(same, same, pdf(f"alone {number}")), address, times=2)
        second_reader.kill()
    for _, source in sources:
        await site.settled(source, documents=2 + 4, messages=8, within_s=180)
        messages = await site.messages(source)
        assert all(part["stored"] for message in messages for part in message["parts"])
        assert len({part["attachment_id"] for message in messages for part in message["parts"]}) == 24


async def test_every_process_ends_in_time_on_sigterm_while_kafka_is_dead(site: Site) -> None:
    processes = {service.name: process_of(site, service.name) for service in SERVICES}
    os.kill(site.running.endpoints.pids["kafka"], signal.SIGKILL)
    for process in processes.values():
        process.terminate()
    await ended(processes)
    await all_ready(site)


async def test_every_process_ends_in_time_on_sigterm_while_kafka_is_frozen(site: Site) -> None:
    """The last of all: nobody waits until the services are there again."""
    processes = {service.name: process_of(site, service.name) for service in SERVICES}
    with frozen(site.running.endpoints.pids["kafka"]):
        for process in processes.values():
            process.terminate()
        await ended(processes)


async def has_refused_pushes(site: Site) -> bool:
    """The gateway has answered 503 to a push, which the provider keeps and sends again."""
    return bool((await site.control.list_notifications())["most_attempts"])


def process_of(site: Site, name: str) -> psutil.Process:
    return psutil.Process(site.running.endpoints.pids[name])


async def ended(processes: dict[str, psutil.Process]) -> None:
    """All of them, in time. One that has ended and was not fetched by the supervisor yet has ended."""
    await asyncio.to_thread(psutil.wait_procs, list(processes.values()), timeout=ENDS_WITHIN_S)
    assert [name for name, process in processes.items() if is_alive(process)] == []


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def killed_and_back(site: Site, name: str) -> None:
    before = site.running.endpoints.pids[name]
    os.kill(before, signal.SIGKILL)

    async def is_another() -> bool:
        return site.running.endpoints.pids[name] != before

    await eventually(is_another)


async def all_ready(site: Site) -> None:
    endpoints = site.running.endpoints
    for url in (endpoints.gateway, endpoints.subscription_manager, endpoints.sync_engine, endpoints.ingestion):

        async def is_ready(url: str = url) -> bool:
            return (await site.http.get(f"{url}/readyz")).is_success

        await eventually(is_ready, 90)


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@asynccontextmanager
async def second_copy(site: Site, name: str) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """Another process beside the supervised one, in its environment but for its port.

    It has no name in the groups, so they move its partitions when it leaves or dies: for one with a name they would
    wait 45 s to come back.
    """
    original = process_of(site, name)
    port = str(free_port())
    environment = {**original.environ(), "MAILROOM_HTTP_PORT": port}
    del environment["MAILROOM_INSTANCE_ID"]
    async with AsyncExitStack() as stack:
        log = stack.enter_context((site.running.home.logs / f"{name}-second.log").open("wb"))
        process = subprocess.Popen(  # noqa: ASYNC220  # forks at once
            original.cmdline(), env=environment, stdout=log, stderr=log
        )
        try:

            async def is_ready() -> bool:
                if process.poll() is not None:
                    raise RuntimeError(f"the second {name} ended with {process.returncode}")
                return (await site.http.get(f"http://127.0.0.1:{port}/readyz")).is_success

            await eventually(is_ready, 90)
            yield process
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, ENDS_WITHIN_S)
