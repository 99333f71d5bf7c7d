"""The process that reads: `python -I -m mailroom_common.parser.child PARENT_PID SEARCH_PATH MODULE…`.

Started with an empty environment; takes one job after the other from standard input and answers on standard output
until the former closes.
"""

import importlib
import io
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from mailroom_common.parser import confinement
from mailroom_common.parser.errors import Unreadable
from mailroom_common.parser.frames import JSON, LENGTH, framed, unframed
from mailroom_common.parser.limits import Limits, apply

Reader = Callable[[BinaryIO, Mapping[str, Any]], JSON]


def main(parent: int, search_path: list[str], modules: list[str]) -> int:
    sys.path[:0] = search_path
    jobs, answers = _take_over_the_pipes()
    # Readers are imported while this is still an ordinary process: what they load cannot depend on a stranger's file.
    for module in modules:
        importlib.import_module(module)
    layers = confinement.confine()
    confinement.die_with_parent(parent)
    _send(answers, {"ready": list(layers)})
    while header := jobs.read(LENGTH.size):
        request: Any = unframed(jobs.read(*LENGTH.unpack(header)))
        answer = _answer(request, jobs)
        _send(answers, answer)
        if "limit" in answer:
            # After a MemoryError nobody knows what is half done in the libraries: the next job gets a new process.
            return 1
    return 0


def _take_over_the_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes for ourselves: a library that prints must not speak to the service."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return jobs, answers


def _send(answers: BinaryIO, message: JSON) -> None:
    answers.write(framed(message))
    answers.flush()


def _answer(request: Mapping[str, Any], jobs: BinaryIO) -> dict[str, JSON]:
    limits = Limits(**request["limits"])
    try:
        source = _source(request, jobs)
    except OSError as error:  # of the machine: the file has not been looked at
        return {"unopened": type(error).__name__}
    apply(limits)
    try:
        with closing(source) as file:
            value = _reader(request["function"])(file, request["arguments"])
        answer = {"value": value}
        return answer if len(framed(answer)) <= limits.output_bytes else {"limit": "output"}
    except Unreadable as refused:
        return {"unreadable": refused.reason}
    except MemoryError:
        return {"limit": "memory"}
    except RecursionError:
        return {"limit": "depth"}
    except Exception as error:  # noqa: BLE001  # the edge of the process; the message may hold a stranger's text
        return {"raised": type(error).__name__}


def _source(request: Mapping[str, Any], jobs: BinaryIO) -> BinaryIO:
    if request["path"] is not None:
        return Path(request["path"]).open("rb")
    return io.BytesIO(jobs.read(request["size_bytes"]))


def _reader(function: str) -> Reader:
    module, _, name = function.partition(":")
    reader: Reader = getattr(importlib.import_module(module), name)
    return reader


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), list(filter(None, sys.argv[2].split(os.pathsep))), sys.argv[3:]))
