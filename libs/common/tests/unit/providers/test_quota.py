import asyncio
from dataclasses import replace

import pytest

from mailroom_common.budgets.waiting import limit_waiting
from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import Throttled
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def most_at_once(quota: Quota, mailboxes: list[Mailbox]) -> int:
    running = most = 0

    async def call(mailbox: Mailbox) -> None:
        nonlocal running, most
        async with quota.hold_slot(mailbox):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    async with asyncio.TaskGroup() as tasks:
        for mailbox in mailboxes:
            tasks.create_task(call(mailbox))
    return most


async def test_one_mailbox_has_four_calls_at_once(outlook: Mailbox) -> None:
    assert await most_at_once(Quota(slots=4), [outlook] * 20) == 4


async def test_doc_sources_of_one_mailbox_share_its_slots_by_their_number(outlook: Mailbox) -> None:
    second = replace(outlook, doc_source_id="another")
    quota = Quota(slots=4, count_sharers=lambda _mailbox: 2)
    assert await most_at_once(quota, [outlook] * 20) == 2
    assert await most_at_once(quota, [outlook] * 20 + [second] * 20) == 4


async def test_mailboxes_do_not_wait_for_each_other(outlook: Mailbox) -> None:
    others = [replace(outlook, provider_user_id=f"user-{number}") for number in range(10)]
    assert await most_at_once(Quota(slots=4), others * 4) == 40


async def test_no_call_is_made_before_the_pause_is_over(outlook: Mailbox) -> None:
    clock = Clock()
    quota = Quota(slots=4, clock=clock)
    quota.pause_mailbox(outlook, 30)
    with pytest.raises(Throttled) as caught:
        async with quota.hold_slot(outlook):
            pytest.fail("a call was let through")
    assert caught.value.retry_after_s == 30
    clock.now += 30
    async with quota.hold_slot(outlook):
        pass


async def test_shorter_pause_does_not_end_a_longer_one(outlook: Mailbox) -> None:
    clock = Clock()
    quota = Quota(slots=4, clock=clock)
    quota.pause_mailbox(outlook, 30)
    quota.pause_mailbox(outlook, 1)
    clock.now += 2
    with pytest.raises(Throttled):
        async with quota.hold_slot(outlook):
            pytest.fail("a call was let through")


async def test_who_waits_for_a_slot_when_the_pause_begins_does_not_call(outlook: Mailbox) -> None:
    quota = Quota(slots=1)
    async with quota.hold_slot(outlook):
        waiting = asyncio.create_task(quota.hold_slot(outlook).__aenter__())
        await asyncio.sleep(0)
        quota.pause_mailbox(outlook, 30)
    with pytest.raises(Throttled):
        await waiting


async def test_a_run_waits_for_a_pause_within_its_limit_and_is_throttled_beyond_it(outlook: Mailbox) -> None:
    quota = Quota(slots=4)
    with limit_waiting(0.03):
        quota.pause_mailbox(outlook, 0.02)
        async with quota.hold_slot(outlook):
            pass
        quota.pause_mailbox(outlook, 0.02)
        with pytest.raises(Throttled):
            async with quota.hold_slot(outlook):
                pytest.fail("a call was let through")


async def test_call_that_would_wait_too_long_for_units_is_throttled_and_holds_no_slot(outlook: Mailbox) -> None:
    quota = Quota(slots=1, mailbox_limit=UnitLimit(10))
    async with quota.hold_slot(outlook, units=8):
        pass
    with limit_waiting(10), pytest.raises(Throttled) as caught:
        async with quota.hold_slot(outlook, units=1):
            pytest.fail("a call was let through")
    assert caught.value.retry_after_s is not None
    assert 50 < caught.value.retry_after_s <= 62
    async with quota.hold_slot(outlook):
        pass


async def test_paused_mailbox_spends_no_units(outlook: Mailbox) -> None:
    clock = Clock()
    quota = Quota(slots=1, mailbox_limit=UnitLimit(10), clock=clock)
    quota.pause_mailbox(outlook, 30)
    for _ in range(5):
        with limit_waiting(0), pytest.raises(Throttled):
            async with quota.hold_slot(outlook, units=8):
                pytest.fail("a call was let through")
    clock.now += 30
    async with quota.hold_slot(outlook, units=8):
        pass


async def test_failed_call_gives_its_slot_back(outlook: Mailbox) -> None:
    quota = Quota(slots=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with quota.hold_slot(outlook):
                raise ZeroDivisionError
    async with quota.hold_slot(outlook):
        pass


async def test_all_mailboxes_together_stay_within_the_limit_of_the_project(outlook: Mailbox) -> None:
    quota = Quota(slots=4, mailbox_limit=UnitLimit(1000), project_limit=UnitLimit(30))
    for number in range(2):
        async with quota.hold_slot(replace(outlook, provider_user_id=f"user-{number}"), units=14):
            pass
    with limit_waiting(10), pytest.raises(Throttled):
        async with quota.hold_slot(replace(outlook, provider_user_id="user-3"), units=14):
            pytest.fail("a call was let through")


async def test_doc_sources_of_one_mailbox_spend_from_one_budget(outlook: Mailbox) -> None:
    quota = Quota(slots=4, mailbox_limit=UnitLimit(10))
    async with quota.hold_slot(outlook, units=8):
        pass
    with limit_waiting(10), pytest.raises(Throttled):
        async with quota.hold_slot(replace(outlook, doc_source_id="another"), units=8):
            pytest.fail("a call was let through")
