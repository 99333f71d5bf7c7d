"""A service with a reader in the middle of a file, to be killed by `test_pool`.

Prints the process ids of the reader and of the fork server.
"""

import asyncio
import sys
from pathlib import Path

from mailroom_common.parser.pool import ParserPool

HERE = Path(__file__).parent


async def main() -> None:
    async with (
        ParserPool(preload=["hostile_readers"], search_path=[HERE]) as pool,
        pool.open_document() as document,
    ):
        answer = await document.run_reader("hostile_readers:count_bytes", b"", dict)
        sys.stdout.write(f"{answer['pid']} {answer['server']}\n")
        sys.stdout.flush()
        await document.run_reader("hostile_readers:sleep_for_an_hour", b"", str)


asyncio.run(main())
