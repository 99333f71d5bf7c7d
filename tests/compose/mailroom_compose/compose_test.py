"""The order of it all: start, look, kill while mail flows, compare, stop and start again, compare, remove."""

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mail_ledger.comparison import Difference
from mail_ledger.mail_flow import Mailbox, MailFlow
from mail_ledger.site_differences import are_none, find_differences, print_differences, wait_until

from mailroom_compose import site_checks
from mailroom_compose.compose_file import order_kills
from mailroom_compose.project import Project, Restart
from mailroom_compose.site_checks import CONTROL_URL, PUBLIC_URL
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI, retry_while_unavailable
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected

_MAILBOXES = (("outlook", "flow@outlook.test"), ("gmail", "flow@gmail.test"))
_DEMO = "demo"
_DEMO_S = 900.0
_QUIET_S = 5.0
_SETTLE_S = 420.0
_MAILS_AFTERWARDS = 4


class CheckFailed(Exception):
    """Its text says what is not as it has to be."""


@dataclass(frozen=True, slots=True)
class Options:
    seed: int
    mails_per_second: float
    keep: bool


class ComposeTest:
    def __init__(self, project: Project, options: Options, state: Path) -> None:
        self._project = project
        self._options = options
        self._authority = state / "ca.pem"
        self._logs = state / "logs"
        self._processes = site_checks.find_processes(project)
        self._mailboxes: list[Mailbox] = []
        self._others: set[str] = set()
        self._flow: MailFlow | None = None
        self._api_key = ""

    def run(self) -> None:
        """Raises CheckFailed, CommandFailed or TimeoutError; logs are saved whatever happens."""
        for service, reason in self._project.left_out.items():
            print(f"- {service} is left out: {reason}", flush=True)
        try:
            self._start("first start")
            with _step("pages, keys, probes"):
                self._check_pages()
            self._check_observability()
            asyncio.run(self._kill_while_mail_flows())
            self._restart()
        finally:
            self._project.save_logs(self._logs / "at-the-end")

    def _start(self, name: str) -> None:
        with _step(f"{name}: containers"):
            self._project.start()
        with _step(f"{name}: the demo has ended with 0"):
            demo = self._project.wait_until_ended(_DEMO, _DEMO_S)
            if demo.exit_code != 0:
                raise CheckFailed(f"the demo ended with {demo.exit_code}")
        with _step(f"{name}: everything is healthy, each job has ended with 0"):
            jobs = [one.name for one in self._project.services.values() if one.is_job]
            self._project.wait_until_healthy([name for name in self._project.services if name not in jobs])
            containers = self._project.find_containers()
            if failed := [name for name in jobs if not containers[name].has_ended_well]:
                raise CheckFailed(f"did not end with 0: {', '.join(failed)}")

    def _check_pages(self) -> None:
        """As docs/install.md has it: the authority out of the proxy, the key from its job."""
        self._project.copy_file("proxy", "/identity/ca.pem", self._authority)
        self._api_key = self._project.read_api_key()
        site_checks.check_probes(self._project, self._processes)
        _refuse(site_checks.find_wrong_answers(self._trusted()))

    def _check_observability(self) -> None:
        if "prometheus" in self._project.services:
            with _step(f"Prometheus sees {len(self._processes)} processes"):
                _refuse(site_checks.find_targets_down(self._processes))
        if "grafana" in self._project.services:
            with _step("Grafana has the dashboards"):
                _refuse(site_checks.find_missing_dashboards())

    async def _kill_while_mail_flows(self) -> None:
        async with ControlClient(CONTROL_URL) as control, self._open_api() as api:
            with _step("mailboxes connected"):
                self._others = {source["id"] for source in await api.list_items("/doc-sources")}
                self._mailboxes = [await self._connect(control, api, *mailbox) for mailbox in _MAILBOXES]
            self._flow = MailFlow(control, self._mailboxes, self._options.mails_per_second, self._options.seed)
            ending = asyncio.Event()
            flowing = asyncio.create_task(self._flow.deliver_until(ending))
            try:
                await self._kill_each()
            finally:
                ending.set()
                await flowing
            await self._compare(control, api, self._flow)

    async def _kill_each(self) -> None:
        services = order_kills(self._options.seed, self._project.services)
        print(f"· seed {self._options.seed}: {', '.join(services)}", flush=True)
        for service in services:
            await asyncio.sleep(_QUIET_S)
            _print_restart(service, await asyncio.to_thread(self._project.kill, service))
        await asyncio.sleep(_QUIET_S)

    def _restart(self) -> None:
        before = asyncio.run(self._list_documents())
        self._project.save_logs(self._logs / "before-down")
        with _step("down"):
            self._project.stop()
        self._start("second start")
        _refuse(asyncio.run(self._compare_after_restart(before)))

    async def _compare_after_restart(self, before: dict[str, str]) -> list[str]:
        async with ControlClient(CONTROL_URL) as control, self._open_api() as api:
            sources = await retry_while_unavailable(lambda: api.list_items("/doc-sources"))
            changed = [f"{one['address']} is {one['state']}" for one in sources if one["state"] != "active"]
            if len(sources) != len(self._others) + len(self._mailboxes):
                changed.append(f"there are {len(sources)} doc sources")
            after = await self._list_documents()
            if after != before:
                changed.append(f"{len(before.items() ^ after.items())} documents differ after `down` and `up`")
            assert self._flow is not None
            flow = MailFlow(
                control, self._mailboxes, 1, self._options.seed, self._flow.contents_by_mail, self._flow.delivered
            )
            await flow.deliver(_MAILS_AFTERWARDS)
            await self._compare(control, api, flow)
        return changed

    async def _list_documents(self) -> dict[str, str]:
        """Every one of every mailbox, with its status."""
        async with self._open_api() as api:
            rows: list[dict[str, Any]] = await retry_while_unavailable(lambda: api.list_items("/documents"))
        return {row["id"]: f"{row['doc_source_id']} {row['content_sha256']} {row['status']}" for row in rows}

    async def _compare(self, control: ControlClient, api: MailroomAPI, flow: MailFlow) -> None:
        async def find() -> list[Difference]:
            await control.retry_pushes_now()
            mails = flow.contents_by_mail
            return await find_differences(control, api, self._mailboxes, mails, other_sources=self._others)

        with _step(f"ledger and documents are the same set after {flow.delivered} mails"):
            differences = await wait_until(are_none, find, _SETTLE_S, pause_s=3)
            print_differences(differences)
            if differences:
                raise CheckFailed(f"{len(differences)} differences between ledger and documents")

    async def _connect(self, control: ControlClient, api: MailroomAPI, provider: str, address: str) -> Mailbox:
        await control.find_or_create_mailbox(provider, address)
        return Mailbox(provider, address, await ensure_mailbox_connected(api, provider, address, self._trusted()))

    def _open_api(self) -> MailroomAPI:
        return MailroomAPI(PUBLIC_URL, self._api_key, self._trusted())

    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self._authority))


@contextmanager
def _step(name: str) -> Iterator[None]:
    started_s = time.monotonic()
    yield
    print(f"✓ {name} ({time.monotonic() - started_s:.1f} s)", flush=True)


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise CheckFailed("; ".join(wrong))


def _print_restart(service: str, restart: Restart) -> None:
    by = "its restart policy" if restart.by_engine else "the test: the engine did not start it again"
    back = f"back after {restart.back_s:.1f} s by {by}, healthy after {restart.healthy_s:.1f} s"
    print(f"· killed {service}: {back}", flush=True)
