"""The process that reads: `python -I -m mailroom_common.parser.child PARENT_PID MAX_FILES LIMITS SEARCH_PATH MODULE…`.

Started with an empty environment; takes one request after the other from standard input and answers on standard output
until the former closes. Its first message says which layers of its confinement hold.
"""

import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from mailroom_common.parser import confinement
from mailroom_common.parser.limits import ParserLimits, exceeds_memory_limit, set_hard_limits, set_soft_limits
from mailroom_common.parser.messages import JSON, LENGTH_PREFIX, UnreadableFile, decode_message, encode_message

Reader = Callable[[BinaryIO, Mapping[str, Any]], JSON]


def main(parent: int, max_files: int, limits: ParserLimits, search_path: list[str], modules: list[str]) -> int:
    layers: list[str] = []
    if confinement.close_inherited_descriptors():
        layers.append(confinement.ConfinementLayer.NO_INHERITED_DESCRIPTORS)
    sys.path[:0] = search_path
    requests, answers = _take_over_pipes()
    # Before the preload: a library may start threads as it is imported, and each would keep the capabilities.
    confinement.drop_capabilities()
    # Readers are imported while this is still an ordinary process: what they load cannot depend on untrusted input.
    for module in modules:
        importlib.import_module(module)
    # Its end says so to the service. Were it to go on, every file would be blamed for what the setting does.
    if exceeds_memory_limit(limits):
        return 1
    layers += confinement.confine_process(parent)
    if set_hard_limits(limits, max_files_read=max_files):
        layers.append(confinement.ConfinementLayer.HARD_LIMITS)
    confinement.die_with_parent(parent)
    _send_message(answers, {"layers": layers})
    while header := requests.read(LENGTH_PREFIX.size):
        request: Any = decode_message(requests.read(*LENGTH_PREFIX.unpack(header)))
        answer = _answer_request(request, requests)
        _send_message(answers, answer)
        if "limit" in answer:
            # After a MemoryError nobody knows what is half done in the libraries: the next file gets a new process.
            return 1
    return 0


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes for ourselves: what a library prints must not reach the service."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, answers


def _send_message(answers: BinaryIO, message: JSON) -> None:
    answers.write(encode_message(message))
    answers.flush()


def _answer_request(request: Mapping[str, Any], requests: BinaryIO) -> dict[str, JSON]:
    limits = ParserLimits(**request["limits"])
    # By value: this process can open no document.
    content = requests.read(request["size_bytes"])
    set_soft_limits(limits)
    try:
        value = _find_reader(request["function"])(io.BytesIO(content), request["arguments"])
        answer = {"value": value}
        return answer if len(encode_message(answer)) <= limits.output_bytes else {"limit": "output"}
    except UnreadableFile as error:
        return {"unreadable": error.reason}
    except MemoryError:
        return {"limit": "memory"}
    except RecursionError:
        return {"limit": "depth"}
    except Exception as error:  # noqa: BLE001  # the edge of the process; the message may quote the file
        return {"raised": type(error).__name__}


def _find_reader(function: str) -> Reader:
    module, _, name = function.partition(":")
    reader: Reader = getattr(importlib.import_module(module), name)
    return reader


if __name__ == "__main__":
    _, parent, max_files, limits, search_path, *modules = sys.argv
    sys.exit(
        main(
            int(parent),
            int(max_files),
            ParserLimits(**json.loads(limits)),
            list(filter(None, search_path.split(os.pathsep))),
            modules,
        )
    )
