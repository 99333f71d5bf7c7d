"""`python -m sync_engine coalescer | worker | api`."""

import asyncio
import sys

from mailroom_common.process import run_process
from sync_engine import app
from sync_engine.settings import CoalescerSettings, MessagesAPISettings, WorkerSettings


def main(arguments: list[str]) -> int:
    match arguments:
        case ["coalescer"]:
            # Faust runs its consumer in a thread with a loop of its own, and was measured on asyncio's.
            return run_process(
                "sync_engine_coalescer", CoalescerSettings, app.coalescer, loop_factory=asyncio.new_event_loop
            )
        case ["worker"]:
            return run_process("sync_engine_worker", WorkerSettings, app.worker)
        case ["api"]:
            return run_process("sync_engine_api", MessagesAPISettings, app.api)
        case _:
            sys.stderr.write("usage: python -m sync_engine coalescer | worker | api\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
