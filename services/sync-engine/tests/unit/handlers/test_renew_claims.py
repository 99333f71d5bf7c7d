"""The loop that renews claims: it goes on after a failure, and ends when the process stops."""

import asyncio
from typing import cast

import pytest

from mailroom_common.errors import Unavailable
from sync_engine.handlers.renew_claims import RenewClaims
from sync_engine.ports import IngestionStates


class FailingStates:
    """Fails at first; stops the process once it was asked again."""

    def __init__(self, stopping: asyncio.Event, error: Exception) -> None:
        self.calls = 0
        self._error = error
        self._stopping = stopping

    async def renew_claims(self) -> int:
        self.calls += 1
        if self.calls == 1:
            raise self._error
        self._stopping.set()
        return 0


@pytest.mark.parametrize("error", [Unavailable("Postgres is away"), PermissionError("no right at the shared table")])
async def test_a_renewal_that_fails_is_followed_by_the_next(error: Exception) -> None:
    stopping = asyncio.Event()
    states = FailingStates(stopping, error)
    renewal = RenewClaims(cast("IngestionStates", states), stuck_timeout_s=0.01)
    await asyncio.wait_for(renewal.renew_repeatedly(stopping), timeout=30)
    assert states.calls == 2
