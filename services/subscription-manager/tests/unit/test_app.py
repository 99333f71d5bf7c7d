import asyncio

from subscription_manager.app import run_once_versions_agree


async def test_loop_that_trusts_the_table_begins_only_once_it_agrees_with_the_topic() -> None:
    versions_agree, stopping, began = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run_loop(_stopping: asyncio.Event) -> None:
        began.set()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(run_once_versions_agree(run_loop, versions_agree, stopping))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not began.is_set()
        versions_agree.set()
        await began.wait()
