"""A whole site in a process of its own, for tests and benchmarks: started, looked at, interrupted, gone."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.stack import child, jars
from mailroom_sandbox.site.stack.child import Child
from mailroom_sandbox.site.stack.class_archive import provide_class_archive
from mailroom_sandbox.site.stack.home import Home, find_checkout, find_home, read_json

READY_S = 240
STOP_S = 20
SANDBOX_COMMAND = (sys.executable, "-m", "mailroom_sandbox")


@dataclass(frozen=True, slots=True)
class SiteHarness:
    home: Home
    process: Child
    log: Path

    @property
    def endpoints(self) -> Endpoints:
        """As the file says now: process ids change with every restart."""
        return Endpoints(**read_json(self.home.endpoints, None))

    def list_processes(self) -> list[psutil.Process]:
        """Every process of the site, the parser's and Postgres's included."""
        supervisor = psutil.Process(self.process.pid)
        return [supervisor, *supervisor.children(recursive=True)]

    async def interrupt_site(self, *, within_s: float = STOP_S) -> int:
        """Ctrl-C; returns the exit code, and raises TimeoutError when it is not over in time."""
        # To the whole group, as a terminal does it: `make` and what it runs both hear it.
        os.killpg(self.process.pid, signal.SIGINT)
        return await asyncio.wait_for(self.process.wait_for_exit(), within_s)


@asynccontextmanager
async def site_harness(
    folder: Path, *arguments: str, environment: Mapping[str, str], command: Sequence[str] = SANDBOX_COMMAND
) -> AsyncIterator[SiteHarness]:
    """Runs `mailroom-sandbox ARGUMENTS`, or another command that starts a site, on the state in `folder`.

    Entered once the site's endpoints are published. Of the caller's environment nothing of Mailroom's is passed on,
    nor is a `.env` of the checkout read. Coverage is not measured in it: eight more processes under a tracer would take
    a third longer, and show little that the services' own tests do not.
    """
    home_of_site = Home(folder)
    await _copy_jars(home_of_site)
    own = {"MAILROOM_HOME": str(folder), "MAILROOM_ENV_FILE": os.devnull}
    log = folder.with_name(f"{folder.name}.log")
    process = child.spawn_process(
        "site",
        [*command, *arguments],
        log=log,
        environment={**clean_environment(), **environment, **own},
        cwd=find_checkout(),
    )
    try:
        yield await _wait_until_ready(SiteHarness(home_of_site, process, log))
    finally:
        await process.stop_process(signal.SIGINT, STOP_S)


def clean_environment() -> dict[str, str]:
    """The caller's, without what belongs to its own run: settings of Mailroom, coverage, and options of `make`."""
    foreign = ("MAILROOM_", "COVERAGE_", "PYTEST_", "MAKE", "MFLAGS")
    return {
        name: value for name, value in os.environ.items() if not name.startswith(foreign) and name not in ("k", "s")
    }


async def _wait_until_ready(harness: SiteHarness) -> SiteHarness:
    async with asyncio.timeout(READY_S):
        while not harness.home.endpoints.exists():
            if not harness.process.is_running:
                raise RuntimeError(f"the site did not start:\n{child.read_tail(harness.log, 30)}")
            await asyncio.sleep(0.1)
    return harness


async def _copy_jars(site: Home) -> None:
    if not site.jars.exists():
        site.jars.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(await jars.provide_jars(find_home().jars), site.jars)
        shutil.copy2(await provide_class_archive(find_home().jars), site.kafka)
