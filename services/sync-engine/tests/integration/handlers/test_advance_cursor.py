"""Rounds of one cursor: refused tokens, pages in batches, and two workers on one cursor."""

import asyncio

from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import (
    CursorRefused,
    PageTokenRefused,
    Throttled,
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


async def test_what_happens_between_a_page_and_its_look_up_loses_nothing(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.page_size, outlook.expands_parts = 50, True
    for number in range(6):
        outlook.deliver(f"m{number}", File())

    async def change_mails(_folder_id: str) -> None:
        outlook.clock.pass_by(seconds=1)
        outlook.move("m0", "f-invoices")
        outlook.delete("m1")
        outlook.mails["m2"].files.append(File(filename="second.pdf"))
        outlook.touch("m2")
        outlook.hidden_from_list.add("m3")

    outlook.meanwhile["received"] = change_mails
    await engine.complete_run(SyncReason.CONNECT)
    assert await engine.collected_mails() == ["m0", "m2", "m2", "m3", "m4", "m5"]
    assert [row["message_id"] for row in await engine.read_rows("parked_item")] == ["m1"], "it may come back"
    assert outlook.calls["received"] == 1
    assert outlook.calls["fetch"] <= 4, "m0, m1 and m3 by their ids, and m0 once more where it lies now"
    engine.clock.pass_by(minutes=11)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert len(await engine.collected_mails()) == 6


async def test_look_up_that_fails_holds_up_no_mail(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.page_size = 50
    outlook.errors["received"] = [Throttled("429", retry_after_s=120)]
    for number in range(6):
        outlook.deliver(f"m{number}", File())
    await engine.complete_run(SyncReason.CONNECT)
    assert await engine.collected_mails() == [f"m{number}" for number in range(6)]
