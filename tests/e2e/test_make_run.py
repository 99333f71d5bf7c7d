"""Every example of `make help`, typed as it stands there, on one state: the demo through the death of what it asks,
resumed, with other mails, and the tests of one package.
"""

import io
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from rich.console import Console
from whole_site import eventually

from mailroom_sandbox.site.demo.demo import Demo
from mailroom_sandbox.site.demo.mails import SAMPLES, find_mails
from mailroom_sandbox.site.lifecycle import SitePlan
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import find_checkout, read_json
from mailroom_sandbox.testkit.site_harness import SiteHarness, clean_environment, site_harness

pytestmark = pytest.mark.timeout(1200)  # two runs of a whole site, on a machine that may be busy

RUN_ONCE = "make run ONCE=1"
RUN_OTHER_MAILS = "make run MAILS=~/mails"
RUN_ELSEWHERE = "MAILROOM_HOME=~/m make run"
# What the demo asks over HTTP; the death of every service while mail flows is tests/chaos's.
ASKED_BY_THE_DEMO = ("subscription_manager", "sync_engine_api", "ingestion_api")
_DOCUMENT = re.compile(r"ap@(outlook|gmail)\.test +(completed|needs_review|skipped) ")


def type_in(command: str, folder: Path = Path(), **variables: str) -> "subprocess.CompletedProcess[str]":
    # The coverage of the run that this test is part of lies in the checkout's own file.
    environment = {**clean_environment(), "COVERAGE_FILE": str(folder / "coverage"), **variables}
    return subprocess.run(
        ["bash", "-c", command], cwd=find_checkout(), env=environment, text=True, capture_output=True, check=False
    )


def list_examples() -> list[str]:
    """The commands of the page's last part; what each does stands two blanks behind it."""
    page = subprocess.run(
        ["make", "help"], cwd=find_checkout(), env=clean_environment(), text=True, capture_output=True, check=True
    )
    _, _, examples = page.stdout.partition("\nexamples\n")
    return [line.strip().split("  ")[0] for line in examples.splitlines()]


def test_every_example_is_run_by_a_test_of_this_module() -> None:
    runs = [example for example in list_examples() if not example.startswith("make test")]
    assert sorted(runs) == sorted([RUN_ONCE, RUN_OTHER_MAILS, RUN_ELSEWHERE])


@pytest.mark.parametrize("example", [example for example in list_examples() if example.startswith("make test")])
def test_example_of_make_test_runs_tests_and_they_pass(tmp_path: Path, example: str) -> None:
    tests = type_in(example, tmp_path)
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert re.search(r"\b[1-9]\d* passed", tests.stdout)


@pytest.mark.parametrize("goal", ["test", "lint", "types", "fmt"])
def test_name_that_is_no_package_is_refused_with_those_that_are(goal: str) -> None:
    refused = type_in(f"make {goal} s=nonsense")
    assert refused.returncode == 2
    assert "s=nonsense names no package; there are " in refused.stderr
    assert " sync-engine " in refused.stderr


def test_name_that_selects_no_test_is_refused(tmp_path: Path) -> None:
    refused = type_in("make test s=cli k=no_such_test", tmp_path)
    assert refused.returncode == 2
    assert "no test of cli is selected by k=no_such_test" in refused.stderr


def test_folder_of_other_mails_is_handed_on_to_the_sandbox(tmp_path: Path) -> None:
    handed_on = type_in(RUN_OTHER_MAILS, HOME=str(tmp_path), MAKEFLAGS="SANDBOX=echo")
    assert handed_on.stdout == f"run --mails {tmp_path / 'mails'}\n", handed_on.stderr


async def test_every_document_arrives_once_whatever_dies_and_nothing_comes_twice(tmp_path: Path) -> None:
    # `~` of the examples is the test's own folder, and the state lies where one example wants it.
    state, user_home = tmp_path / "m", {"HOME": str(tmp_path)}
    async with site_harness(state, environment=user_home, command=typed(RUN_ONCE)) as running:
        for service in ASKED_BY_THE_DEMO:
            await kill_and_wait_for_restart(running, service)
        assert await running.process.wait_for_exit() == 0, running.log.read_text()[-3000:]
    first = running.log.read_text()
    assert [f"{service} ended (SIGKILL)" in first for service in ASKED_BY_THE_DEMO] == [True, True, True]
    assert "every mail is accounted for in 2 mailboxes" in first
    assert first.count("0 were there already") == 2
    delivered = read_json(state / "deliveries.json", {})

    async with site_harness(state, environment=user_home, command=typed(RUN_ELSEWHERE)) as running:
        await eventually_logged(running, first, "make run resumes")
        assert read_json(state / "deliveries.json", {}) == delivered
        write_other_mail(tmp_path / "mails")
        others = await deliver_mails(running, tmp_path / "mails")
        processes = running.list_processes()
        await running.interrupt_site()
    assert [process for process in processes if process.is_running() and process.status() != "zombie"] == []
    second = running.log.read_text().removeprefix(first)
    assert second.count("✓ 0 mails delivered to") == 2
    assert others.count("✓ 1 mails delivered to") == 2
    assert "duplicate completed" in others
    for shown in (second, others):
        assert sorted(set(find_documents(shown))) == list_documents(first), "the same documents, each once"


def write_other_mail(folder: Path) -> None:
    """One with a document that is known already."""
    folder.mkdir()
    known = (SAMPLES / "attached-pdf.eml").read_bytes()
    (folder / "one.eml").write_bytes(known.replace(b"Subject:", b"Subject: Again", 1))


async def deliver_mails(running: SiteHarness, folder: Path) -> str:
    """What `make run MAILS=folder` shows, on a site that runs already."""
    control = f"http://127.0.0.1:{read_json(running.home.ports, {})['sandbox_control']}"
    plan = SitePlan(running.home, {}, {}, ca.load_or_create_certificates(running.home.tls))
    shown = io.StringIO()
    demo = Demo(plan, control, Console(file=shown, width=140), find_mails(folder), of_the_repository=False, once=False)
    assert await demo(running.endpoints) == 0, shown.getvalue()
    return shown.getvalue()


def typed(example: str) -> list[str]:
    return ["bash", "-c", example]


def list_documents(log: str) -> list[str]:
    """The lines of the documents, the closing lists of both mailboxes where there are such."""
    _, _, closing = log.partition("\nap@outlook.test\n")
    return sorted(find_documents(closing or log))


def find_documents(log: str) -> list[str]:
    return [line for line in log.splitlines() if _DOCUMENT.match(line)]


async def eventually_logged(running: SiteHarness, before: str, text: str) -> None:
    async def is_logged() -> bool:
        return text in running.log.read_text().removeprefix(before)

    await eventually(is_logged, 180)


async def kill_and_wait_for_restart(running: SiteHarness, name: str) -> None:
    killed = running.endpoints.pids[name]
    os.kill(killed, signal.SIGKILL)

    async def is_another() -> bool:
        return running.endpoints.pids[name] != killed

    await eventually(is_another)
