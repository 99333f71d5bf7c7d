import asyncio
from itertools import islice

import pytest
from gateway_fakes import FakeSourceDirectory, build_gateway, make_change, make_source

from mailroom_common.errors import Unavailable
from webhook_gateway.adapters.doc_source_lookup import BoundedDocSourceLookup


async def test_a_bounded_number_of_pushes_waits_for_the_directory() -> None:
    gateway = build_gateway(make_source(), max_catch_ups=3)
    gateway.directory.catch_up_released = asyncio.Event()

    pushes = [asyncio.create_task(gateway.post_items(make_change("nobody:x"))) for _ in range(10)]
    for refused in islice(asyncio.as_completed(pushes, timeout=5), 7):
        await refused
    genuine = await gateway.post_items(make_change())
    gateway.directory.catch_up_released.set()
    statuses = sorted([(await push).status_code for push in pushes])

    assert gateway.directory.max_waiting == 3
    assert statuses == [401] * 3 + [503] * 7
    assert genuine.status_code == 202


async def test_a_catch_up_that_ended_makes_room_for_the_next_whether_it_succeeded_or_not() -> None:
    directory = FakeSourceDirectory(can_catch_up=False)
    lookup = BoundedDocSourceLookup(directory, catch_up_timeout_s=0.7, max_catch_ups=1)

    with pytest.raises(Unavailable, match="could not read"):
        await lookup.catch_up()
    directory.can_catch_up = True
    for _ in range(2):
        await lookup.catch_up()

    assert directory.catch_up_timeouts_s == [0.7] * 3
