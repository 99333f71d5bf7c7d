"""`python -m sync_engine coalescer | worker | api`."""

import asyncio
import sys

from mailroom_common.process import run_process
from sync_engine.settings import CoalescerSettings, MessagesAPISettings, WorkerSettings


def main(arguments: list[str]) -> int:
    # Each process imports what it needs: Faust, say, takes a second that a restarted worker need not lose.
    match arguments:
        case ["coalescer"]:
            from sync_engine.app import coalescer

            # Faust runs its consumer in a thread with a loop of its own, and was measured on asyncio's.
            loop = asyncio.new_event_loop
            return run_process("sync_engine_coalescer", CoalescerSettings, coalescer.run, loop_factory=loop)
        case ["worker"]:
            from sync_engine.app import worker

            return run_process("sync_engine_worker", WorkerSettings, worker.run)
        case ["api"]:
            from sync_engine.app import api

            return run_process("sync_engine_api", MessagesAPISettings, api.run)
        case _:
            sys.stderr.write("usage: python -m sync_engine coalescer | worker | api\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
