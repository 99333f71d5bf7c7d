import asyncio

from gateway_fakes import build_gateway, make_change, make_source


async def test_a_bounded_number_of_pushes_waits_for_the_directory() -> None:
    gateway = build_gateway(max_catch_ups=3)
    gateway.directory.add_sources(make_source())
    gateway.directory.catch_up_released = asyncio.Event()

    pushes = [asyncio.create_task(gateway.post_items(make_change("nobody:x"))) for _ in range(10)]
    await asyncio.sleep(0.1)
    genuine = await gateway.post_items(make_change())
    gateway.directory.catch_up_released.set()
    statuses = sorted([(await push).status_code for push in pushes])

    assert gateway.directory.max_waiting == 3
    assert statuses == [401] * 3 + [503] * 7
    assert genuine.status_code == 202
