"""Rounds of one cursor: refused tokens, pages in batches, and two workers on one cursor."""

import asyncio

from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import (
    CursorRefused,
    PageTokenRefused,
)
from mailroom_common.events import SyncReason
from sync_engine.domain.run_outcomes import RunDeferred


async def test_two_workers_on_one_mailbox_take_each_mail_once(engine: Engine, outlook: FakeOutlook) -> None:
    for number in range(7):
        outlook.deliver(f"m{number}", File())
    await asyncio.gather(engine.run_sync(SyncReason.CONNECT), engine.run_sync(SyncReason.CONNECT))
    engine.clock.pass_by(minutes=1)
    await engine.run_sync(SyncReason.CONNECT)
    assert await engine.collected_mails() == [f"m{number}" for number in range(7)]


async def test_a_refused_page_goes_back_to_its_position_and_not_to_nothing(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await engine.complete_run()
    position = (await engine.repositories.cursors.read_cursor(engine.source.doc_source_id, "f-inbox")).position
    for number in range(7):
        outlook.deliver(f"m{number}", File())
    engine.clock.pass_by(minutes=11)
    outlook.errors["page"] = [PageTokenRefused("too late")]
    outlook.asked.clear()
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == [f"m{number}" for number in range(7)]
    asked = [call for call in outlook.asked if call[0] == "f-inbox"]
    assert asked[0] == asked[2] == ("f-inbox", position, None), "it began again at its position"
    assert asked[1][2] is not None


async def test_a_refused_position_is_the_first_sync_again_and_takes_nothing_twice(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File())
    await engine.complete_run()
    engine.clock.pass_by(minutes=11)
    outlook.deliver("m2", File())
    outlook.errors["delta"] = [CursorRefused("410")]
    await engine.complete_run(SyncReason.BACKSTOP)
    assert await engine.collected_mails() == ["m1", "m2"]


async def test_a_provider_that_refuses_every_cursor_is_failing(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.errors["delta"] = [CursorRefused("410") for _ in range(10)]
    outcome = await engine.run_sync()
    assert isinstance(outcome, RunDeferred)
    assert outcome.is_failure
