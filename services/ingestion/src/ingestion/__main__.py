"""`python -m ingestion worker | api | read FILE…`."""

import sys

from ingestion.settings import DocumentsAPISettings, WorkerSettings
from mailroom_common.process import run_process


def main(arguments: list[str]) -> int:
    # Each process imports what it needs: the API has no use for Kafka and the readers.
    match arguments:
        case ["worker"]:
            from ingestion.app import worker

            return run_process("ingestion_worker", WorkerSettings, worker.run)
        case ["api"]:
            from ingestion.app import api

            return run_process("ingestion_api", DocumentsAPISettings, api.run)
        case ["read", *rest]:
            from ingestion.app import read_files

            return read_files.main(rest)
        case _:
            sys.stderr.write("usage: python -m ingestion worker | api | read FILE…\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
