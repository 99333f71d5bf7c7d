"""`python -m ingestion worker | api`."""

import sys

from ingestion import app
from ingestion.settings import DocumentsAPISettings, WorkerSettings
from mailroom_common.process import run_process


def main(arguments: list[str]) -> int:
    match arguments:
        case ["worker"]:
            return run_process("ingestion_worker", WorkerSettings, app.worker)
        case ["api"]:
            return run_process("ingestion_api", DocumentsAPISettings, app.api)
        case _:
            sys.stderr.write("usage: python -m ingestion worker | api\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
