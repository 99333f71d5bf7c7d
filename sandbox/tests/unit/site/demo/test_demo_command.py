"""The demo waits for a site that is just being started, and says what is missing when it does not come."""

from typing import Any, cast

import pytest

from mailroom_common.errors import Unavailable
from mailroom_sandbox.provider_doubles.client import ControlClient, ControlError
from mailroom_sandbox.site.demo import demo_command
from mailroom_sandbox.site.demo.api import MailroomAPI


class StartingSite:
    """Both sides of it; each answers after so many calls."""

    def __init__(self, *, refusals: int) -> None:
        self.refusals = {"control": refusals, "api": refusals}

    async def list_mailboxes(self) -> list[dict[str, Any]]:
        self._refuse("control", ControlError("does not answer"))
        return []

    async def list_items(self, path: str) -> list[dict[str, Any]]:
        self._refuse("api", Unavailable(f"GET {path}: ConnectError"))
        return []

    def _refuse(self, side: str, error: Exception) -> None:
        self.refusals[side] -= 1
        if self.refusals[side] >= 0:
            raise error


async def wait_for(site: StartingSite, within_s: float) -> None:
    await demo_command.wait_for_site(cast(MailroomAPI, site), cast(ControlClient, site), within_s)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command, "_PAUSE_S", 0)


async def test_it_waits_until_providers_and_api_answer() -> None:
    site = StartingSite(refusals=3)
    await wait_for(site, 60)
    assert max(site.refusals.values()) < 0


async def test_a_site_that_does_not_come_is_an_error_that_names_it() -> None:
    with pytest.raises(ControlError, match="does not answer"):
        await wait_for(StartingSite(refusals=1000), 0)
