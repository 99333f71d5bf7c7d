"""`make run ONCE=1`, the demo, through the death of every service and a second run on the same state."""

import os
import re
import signal
from pathlib import Path

import pytest
from whole_site import eventually

from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.stack.home import read_json
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

pytestmark = pytest.mark.timeout(600)

_DOCUMENT = re.compile(r"ap@(outlook|gmail)\.test +(completed|needs_review|skipped) ")


async def test_every_document_arrives_once_whatever_dies_and_nothing_comes_twice(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with site_harness(home, "run", "--once", environment={}) as running:
        for service in SERVICES:
            await _kill(running, service.name)
        assert await running.process.exited() == 0, running.log.read_text()[-3000:]
    first = running.log.read_text()
    assert [f"{service.name} ended (SIGKILL)" in first for service in SERVICES] == [True] * len(SERVICES)
    assert "every mail is accounted for in 2 mailboxes" in first
    assert first.count("0 were there already") == 2
    delivered = read_json(home / "deliveries.json", {})

    async with site_harness(home, "run", "--once", environment={}) as running:
        assert await running.process.exited() == 0, running.log.read_text()[-3000:]
    second = running.log.read_text().removeprefix(first)
    assert second.count("✓ 0 mails delivered to") == 2
    assert read_json(home / "deliveries.json", {}) == delivered
    assert _documents(second) == _documents(first), "the same documents, each once"


def _documents(log: str) -> list[str]:
    """The closing lists of both mailboxes: the first heading is that of the rows which appear as they come."""
    _, _, closing = log.partition("\nap@outlook.test\n")
    return sorted(line for line in closing.splitlines() if _DOCUMENT.match(line))


async def _kill(running: SiteHarness, name: str) -> None:
    """Returns once the supervisor has started it again."""
    killed = running.endpoints.pids[name]
    os.kill(killed, signal.SIGKILL)

    async def is_another() -> bool:
        return running.endpoints.pids[name] != killed

    await eventually(is_another)
