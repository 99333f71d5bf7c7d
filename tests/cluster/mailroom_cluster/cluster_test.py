"""Faults while mail flows, then ledger against documents; then a worker that drops a page is found out."""

import argparse
import asyncio
import json
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from mail_ledger.comparison import Difference, looks_like_dropped_page
from mail_ledger.mail_flow import Mailbox, MailFlow
from mail_ledger.site_differences import are_none, find_differences, print_differences, wait_until

from mailroom_cluster import kafka_brokers, namespaces, release, site_images
from mailroom_cluster.fault_injection import FaultInjector
from mailroom_cluster.fault_order import Fault, order_faults
from mailroom_cluster.ingress import read_pushes
from mailroom_cluster.outside import PUBLIC_URL
from mailroom_cluster.places import Places
from mailroom_cluster.push_judgement import PushReport, judge_pushes
from mailroom_cluster.site import ClusterSite
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI

_QUIET_S = 5.0
_SETTLE_S = 900.0
_DROP_SETTLE_S = 90.0
_DROP_MAILS = 24
_SECONDS_PER_FLOW_CHECK = 2.0
_LONGEST_FLOW_S = 1500.0


@dataclass(frozen=True, slots=True)
class PlayedFault:
    name: str
    after_s: float
    took_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """`mistakes` is empty when the test passed."""

    seed: int
    mails: int
    documents_settled_s: float
    faults: list[PlayedFault]
    pushes: PushReport
    differences: dict[str, int]
    dropped: dict[str, int]
    mistakes: list[str]
    start_s: dict[str, float]
    total_s: float


def run_inside(places: Places, archives: Sequence[Path], arguments: argparse.Namespace) -> int:
    """In the namespaces of its own; returns the exit code."""
    started_s = time.monotonic()
    _empty_folders(places)
    namespaces.prepare_namespaces()
    site = ClusterSite.create(places)
    try:
        site.start(archives)
        work = _look_at_site if arguments.command == "up" else _test_site
        return asyncio.run(work(site, arguments, started_s))
    finally:
        site.save_logs()
        site.stop()


async def _test_site(site: ClusterSite, arguments: argparse.Namespace, started_s: float) -> int:
    run = await _ConnectedRun.open(site, arguments)
    async with run.stack:
        outcome = await run.test(started_s)
    site.places.reports.mkdir(parents=True, exist_ok=True)
    (site.places.reports / "report.json").write_text(json.dumps(asdict(outcome), indent=2) + "\n")
    _print_outcome(outcome, site.places)
    return 1 if outcome.mistakes else 0


async def _look_at_site(site: ClusterSite, arguments: argparse.Namespace, _: float) -> int:
    run = await _ConnectedRun.open(site, arguments)
    async with run.stack:
        print(f"{PUBLIC_URL} with key {site.release.api_key}; Ctrl-C ends it", flush=True)
        await asyncio.Event().wait()
    return 0


class _ConnectedRun:
    """A site with connected mailboxes and the clients to drive it."""

    def __init__(self, site: ClusterSite, arguments: argparse.Namespace, stack: AsyncExitStack) -> None:
        self.stack = stack
        self._site = site
        self._seed: int = arguments.seed
        self._least_pushes: int = arguments.least_pushes
        self._most_faults: int | None = arguments.most_faults
        self._rate: float = arguments.mails_per_second
        self._control: ControlClient
        self._api: MailroomAPI
        self._mailboxes: list[Mailbox] = []

    @classmethod
    async def open(cls, site: ClusterSite, arguments: argparse.Namespace) -> "_ConnectedRun":
        run = cls(site, arguments, AsyncExitStack())
        run._control = await run.stack.enter_async_context(ControlClient(site.outside.control_url))
        trusted = site.authority.build_client_context()
        run._api = await run.stack.enter_async_context(MailroomAPI(PUBLIC_URL, site.release.api_key, trusted))
        run._mailboxes = await site.connect_mailboxes(run._control, run._api)
        print(f"✓ {len(run._mailboxes)} mailboxes connected", flush=True)
        return run

    async def test(self, started_s: float) -> Outcome:
        await self._announce_twice()
        flow = MailFlow(self._control, self._mailboxes, self._rate, self._seed)
        injector = FaultInjector(self._site.kubernetes, self._site.release)
        played, mistakes = await self._play_faults_under(flow, injector)
        settling_s = time.monotonic()
        await self._control.retry_pushes_now()
        differences = await wait_until(are_none, self._finder(flow), _SETTLE_S)
        settled_s = time.monotonic() - settling_s
        mistakes += [f"{len(differences)} differences between ledger and documents"] if differences else []
        print_differences(differences)
        pushes = judge_pushes(read_pushes(self._site.outside.pushes), injector.gateway_killed_at)
        mistakes += pushes.find_violations(least=self._least_pushes)
        dropped = await self._drop_a_page(flow) if not differences else []
        if not differences and not looks_like_dropped_page(dropped):
            mistakes.append("the comparison did not notice that a worker dropped a page")
        return Outcome(
            seed=self._seed,
            mails=flow.delivered,
            documents_settled_s=settled_s,
            faults=played,
            pushes=pushes,
            differences=dict(Counter(difference.kind for difference in differences)),
            dropped=dict(Counter(difference.kind for difference in dropped)),
            mistakes=mistakes,
            start_s=self._site.took_s,
            total_s=time.monotonic() - started_s,
        )

    async def _announce_twice(self) -> None:
        """As Google and Microsoft now and then do; it also makes more pushes of as many mails."""
        for mailbox in self._mailboxes:
            if mailbox.provider == "gmail":
                await self._control.set_fault("notifications", mailbox=mailbox.address, mode="duplicated", copies=2)

    async def _play_faults_under(self, flow: MailFlow, injector: FaultInjector) -> tuple[list[PlayedFault], list[str]]:
        """All faults while mail flows; mail flows on until there are pushes enough to judge."""
        components = tuple(component for component, _ in release.COMPONENTS.values())
        faults = order_faults(self._seed, components, kafka_brokers.BROKERS)[: self._most_faults]
        print(f"seed {self._seed}: {', '.join(str(fault) for fault in faults)}", flush=True)
        ending = asyncio.Event()
        flowing = asyncio.create_task(flow.deliver_until(ending))
        started_s = time.monotonic()
        played: list[PlayedFault] = []
        mistakes: list[str] = []
        try:
            for fault in faults:
                await asyncio.sleep(_QUIET_S)
                played.append(await self._play(fault, injector, started_s))
            await self._wait_for_pushes(flowing, started_s + _LONGEST_FLOW_S)
        except RuntimeError as error:
            mistakes.append(str(error))
        finally:
            ending.set()
            await flowing
        return played, mistakes

    async def _wait_for_pushes(self, flowing: "asyncio.Task[None]", deadline: float) -> None:
        """Until there are enough to judge; that there are too few is found then."""
        pushes = self._site.outside.pushes
        while len(read_pushes(pushes)) < self._least_pushes and not flowing.done() and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_SECONDS_PER_FLOW_CHECK)  # the ingress writes them in a process of its own

    async def _play(self, fault: Fault, injector: FaultInjector, started_s: float) -> PlayedFault:
        await asyncio.to_thread(self._site.save_logs)  # those of a pod go with it
        before_s = time.monotonic()
        await asyncio.to_thread(injector.play, fault)
        done = PlayedFault(str(fault), before_s - started_s, time.monotonic() - before_s)
        print(f"· {done.after_s:5.0f} s  {done.name}  {done.took_s:.0f} s", flush=True)
        return done

    async def _drop_a_page(self, flow: MailFlow) -> list[Difference]:
        """One worker, from the image that drops a page; what the comparison then says."""
        worker = "sync-engine-worker"
        workload = release.describe_workload(worker)
        image = f"{worker}=localhost/mailroom/sync-engine:{site_images.DROPPING_TAG}"
        kubectl = self._site.kubernetes.kubectl
        await asyncio.to_thread(kubectl, "scale", "-n", release.NAMESPACE, workload, "--replicas=1")
        await asyncio.to_thread(kubectl, "set", "image", "-n", release.NAMESPACE, workload, image)
        await asyncio.to_thread(self._site.release.wait_until_rolled_out, worker)
        await flow.deliver(_DROP_MAILS)
        return await wait_until(looks_like_dropped_page, self._finder(flow), _DROP_SETTLE_S)

    def _finder(self, flow: MailFlow) -> Callable[[], Awaitable[list[Difference]]]:
        return lambda: find_differences(self._control, self._api, self._mailboxes, flow.contents_by_mail)


def _empty_folders(places: Places) -> None:
    pid = next(places.state.glob("*.pid"), None)
    for folder in (places.state, places.reports):
        for entry in folder.glob("*"):
            if entry != pid:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    places.logs.mkdir(parents=True, exist_ok=True)


def _print_outcome(outcome: Outcome, places: Places) -> None:
    pushes = outcome.pushes
    print(f"\n{outcome.mails} mails; ledger and documents equal {outcome.documents_settled_s:.0f} s after the last")
    print(
        f"{pushes.total} pushes: {pushes.share_in_time:.3%} answered in time, {pushes.late} late, {pushes.reset} reset"
        f" by a killed pod, {pushes.unanswered} without an answer; p50 {pushes.p50_s * 1000:.0f} ms,"
        f" p99.9 {pushes.p999_s * 1000:.0f} ms; {pushes.statuses}"
    )
    print(f"a dropped page was found out by {outcome.dropped}")
    print(f"seed {outcome.seed}, {outcome.total_s:.0f} s; logs and report.json in {places.reports}")
    for mistake in outcome.mistakes:
        print(f"FAILED: {mistake}")
    print("FAILED" if outcome.mistakes else "passed", flush=True)
