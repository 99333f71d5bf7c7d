"""When a source may run again, and what is left of one that is forgotten."""

from datetime import timedelta

import pytest
from fake_mailbox import FakeOutlook
from sync_harness import Engine

from mailroom_common.errors import (
    ProviderUnavailable,
    Throttled,
)
from sync_engine.domain.run_outcomes import RunDeferred


@pytest.mark.parametrize("retry_after_s", [None, 0.0, 0.01])
async def test_failures_in_a_row_are_deferred_longer_and_longer_however_little_the_provider_asks(
    engine: Engine, outlook: FakeOutlook, retry_after_s: float | None
) -> None:
    pauses = []
    for _ in range(6):
        outlook.errors["folders"] = [ProviderUnavailable("503", retry_after_s=retry_after_s)]
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        assert outcome.is_failure
        pauses.append(outcome.not_before - engine.clock.now)
        engine.clock.now = outcome.not_before
    assert all(pause >= timedelta(seconds=1) for pause in pauses), pauses
    assert all(later > earlier for earlier, later in zip(pauses, pauses[2:], strict=False)), pauses
    await engine.complete_run()
    assert (await engine.read_row("sync_state"))["failed_attempts"] == 0


async def test_a_newer_grant_clears_what_the_older_one_failed_at(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["folders"] = [Throttled("patience", retry_after_s=900)]
    await engine.run_sync()
    await engine.change_source(grant_generation=2)
    assert (await engine.states.raise_version_and_read_state(engine.source)).not_before is None
    await engine.complete_run()
