"""Run in the image of ingestion: what a parser process there can still do when its file tells it to do harm.

`python probe_parser.py FOLDER_OF_READERS` prints the layers of the confinement and the outcome of each attempt as JSON.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mailroom_common.parser import ParserCrashed
from mailroom_common.parser.pool import ParserPool


async def probe_parser(readers: Path, victim: Path) -> dict[str, object]:
    there = {"victim": str(victim), "path": str(victim)}
    async with ParserPool(preload=["hostile_readers"], search_path=[readers], private_paths=[victim]) as pool:
        report: dict[str, object] = {
            "user": os.getuid(),
            "layers": await pool.check_confinement(),
            "read": await pool.run_reader("hostile_readers:count_bytes", victim, dict),
            "calls": await pool.run_reader("hostile_readers:try_forbidden_calls", b"", dict, arguments=there),
            "environments": await pool.run_reader(
                "hostile_readers:read_environments", b"", dict, arguments={"service": str(os.getpid())}
            ),
            "document": await pool.run_reader("hostile_readers:open_document", b"", dict, arguments=there),
        }
        try:
            report["x32"] = await pool.run_reader("hostile_readers:call_by_x32_number", b"", int)
        except ParserCrashed as crashed:
            report["x32"] = str(crashed)
    return report


if __name__ == "__main__":
    document = Path("/tmp/another-document")  # noqa: S108  # the one writable folder of a container
    document.write_bytes(b"another tenant's")
    print(json.dumps(asyncio.run(probe_parser(Path(sys.argv[1]), document))))
