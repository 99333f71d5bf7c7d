"""A read that is refused: the message's trouble where others can be read, the mailbox's where none can."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.errors import AccessDenied
from mailroom_common.events import ConnectionKind, Profile, SyncReason
from sync_engine.domain.run_outcomes import NotSyncable

DENIED = AccessDenied("403")


@pytest.fixture
def outlook(outlook: FakeOutlook) -> FakeOutlook:
    outlook.page_size = 50
    return outlook


async def store_some(engine: Engine, outlook: FakeOutlook, count: int = 3) -> None:
    for number in range(count):
        outlook.deliver(f"known-{number}", File())
    await engine.complete_run()
    engine.clock.pass_by(minutes=16)


async def _read_rows(engine: Engine) -> Sequence[object]:
    """Of the folder that has the messages: the others, which are empty, are read beside it."""
    cursors = await engine.read_rows("cursor")
    return [row for row in cursors if row["scope"] == "f-inbox"] + await engine.read_rows("message")


async def expect_access_denied(engine: Engine, *reasons: SyncReason) -> None:
    outcome = await engine.run_sync(*reasons)
    assert isinstance(outcome, NotSyncable)
    assert outcome.kind is ConnectionKind.ACCESS_DENIED


@pytest.mark.parametrize("known", [0, 3], ids=["first sync", "later"])
@pytest.mark.parametrize("is_of_parts", [False, True], ids=["messages", "bytes"])
async def test_mailbox_whose_messages_are_all_refused_says_so_and_recovers_with_the_next_backstop(
    engine: Engine, outlook: FakeOutlook, known: int, is_of_parts: bool
) -> None:
    if known:
        await store_some(engine, outlook, known)
    for number in range(6):
        outlook.deliver(f"m{number}", File())
    if is_of_parts:
        outlook.part_errors["invoice.pdf"] = DENIED
    else:
        outlook.item_errors = dict.fromkeys(outlook.mails, DENIED)
    rows = await _read_rows(engine)
    for _ in range(2):
        outlook.calls.clear()
        await expect_access_denied(engine, SyncReason.BACKSTOP)
        assert outlook.calls["fetch"] <= 6, "three that are under way, and three to tell"
        assert await engine.read_rows("parked_item") == []
        assert await _read_rows(engine) == rows
        engine.clock.pass_by(minutes=16)
    outlook.part_errors, outlook.item_errors = {}, {}
    await engine.complete_run(SyncReason.BACKSTOP)
    assert len(await engine.collected_mails()) == known + 6


async def test_one_protected_message_is_parked_and_tells_nothing_of_the_others(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await store_some(engine, outlook)
    outlook.deliver("protected", File())
    outlook.deliver("good", File())
    outlook.item_errors["protected"] = DENIED
    outlook.calls.clear()
    await engine.complete_run(SyncReason.BACKSTOP)
    assert "good" in await engine.collected_mails()
    assert (await engine.read_row("parked_item"))["reason"] == "access_denied"
    assert outlook.calls["fetch"] == 3, "one other message was read, once"


async def test_messages_that_were_protected_since_stop_no_mailbox(engine: Engine, outlook: FakeOutlook) -> None:
    await store_some(engine, outlook)
    outlook.deliver("protected", File())
    outlook.item_errors = dict.fromkeys(["known-2", "known-1", "protected"], DENIED)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert (await engine.read_row("parked_item"))["message_id"] == "protected"


async def test_single_message_that_is_refused_is_parked(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("only", File())
    outlook.item_errors["only"] = DENIED
    await engine.complete_run()
    assert (await engine.read_row("parked_item"))["reason"] == "access_denied"


async def test_what_is_parked_as_denied_is_tried_with_each_backstop(engine: Engine, outlook: FakeOutlook) -> None:
    await store_some(engine, outlook)
    outlook.deliver("m1", File(), File(filename="protected.pdf"))
    outlook.deliver("m2", File())
    outlook.part_errors["protected.pdf"] = outlook.item_errors["m2"] = DENIED
    for _ in range(8):  # it is tried once a day by now
        await engine.complete_run(SyncReason.BACKSTOP)
        engine.clock.pass_by(hours=25)
    await engine.complete_run(SyncReason.BACKSTOP)
    outlook.part_errors, outlook.item_errors = {}, {}
    engine.clock.pass_by(minutes=16)
    await engine.complete_run(SyncReason.BACKSTOP)
    assert [mail for mail in await engine.collected_mails() if mail.startswith("m")] == ["m1", "m1", "m2"]


async def test_a_mailbox_that_is_lost_while_nothing_but_retries_is_due_says_so(
    engine: Engine, outlook: FakeOutlook
) -> None:
    await store_some(engine, outlook)
    outlook.deliver("m1", File())
    outlook.item_errors["m1"] = DENIED
    await engine.complete_run(SyncReason.BACKSTOP)
    outlook.item_errors = dict.fromkeys(outlook.mails, DENIED)
    engine.clock.pass_by(minutes=16)
    await expect_access_denied(engine, SyncReason.BACKSTOP)
    assert (await engine.read_row("parked_item"))["attempts"] == 1


async def test_an_observed_mailbox_whose_messages_are_refused_says_so(postgres_url: str, tmp_path: Path) -> None:
    async with open_engine(postgres_url, tmp_path, doc_source(profile=Profile.OBSERVATION)) as engine:
        outlook = engine.mailbox
        assert isinstance(outlook, FakeOutlook)
        outlook.deliver("known")
        await engine.complete_run()
        engine.clock.pass_by(minutes=16)
        outlook.deliver("m1")
        outlook.touch("m1", headers=None)  # of what a list does not tell, the message is asked
        outlook.item_errors = dict.fromkeys(outlook.mails, DENIED)
        await expect_access_denied(engine, SyncReason.BACKSTOP)
