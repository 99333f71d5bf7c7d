"""The parser process: forked for one document, which it reads by the readers that it is asked for.

It takes one request after the other from its pipe and answers on the other, until the service ends it. Its first
message says which layers of its confinement hold.
"""

import importlib
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from mailroom_common.parser.limits import ParserLimits, set_soft_limits
from mailroom_common.parser.messages import (
    JSON,
    LENGTH_PREFIX,
    MAX_CHUNK_BYTES,
    UnreadableFile,
    decode_message,
    encode_message,
)

Reader = Callable[[BinaryIO, Mapping[str, Any]], JSON]
# Yields what it finds in a file: what is to be said of each content, and its bytes.
ContentsReader = Callable[[BinaryIO, Mapping[str, Any]], Iterable[tuple[JSON, Iterable[bytes]]]]

_MAX_REPORTED_PATHS = 3


def serve_document(requests: int, answers: int, layers: Sequence[str], readable_files: Sequence[str]) -> None:
    """Both are descriptors of pipes. `readable_files` are those that this process should not be able to open."""
    with os.fdopen(requests, "rb") as incoming, os.fdopen(answers, "wb") as outgoing:
        _send_message(outgoing, {"layers": layers, "readable_files": readable_files[:_MAX_REPORTED_PATHS]})
        while header := incoming.read(LENGTH_PREFIX.size):
            request: Any = decode_message(incoming.read(*LENGTH_PREFIX.unpack(header)))
            answer = _answer_request(request, incoming, outgoing)
            _send_message(outgoing, answer)
            if "limit" in answer:
                # After a MemoryError nobody knows what is half done in the libraries.
                return


def _send_message(answers: BinaryIO, message: JSON) -> None:
    answers.write(encode_message(message))
    answers.flush()


def _answer_request(request: Mapping[str, Any], requests: BinaryIO, answers: BinaryIO) -> dict[str, JSON]:
    limits = ParserLimits(**request["limits"])
    # By value: this process can open no document.
    content = requests.read(request["size_bytes"])
    set_soft_limits(limits)
    try:
        reader = _find_reader(request["function"])
        if request["streams_contents"]:
            has_sent_all = _send_contents(
                reader(io.BytesIO(content), request["arguments"]), answers, limits.output_bytes
            )
            return {"value": None} if has_sent_all else {"limit": "output"}
        answer = {"value": reader(io.BytesIO(content), request["arguments"])}
        return answer if len(encode_message(answer)) <= limits.output_bytes else {"limit": "output"}
    except UnreadableFile as error:
        return {"unreadable": error.reason}
    except MemoryError:
        return {"limit": "memory"}
    except RecursionError:
        return {"limit": "depth"}
    except Exception as error:  # noqa: BLE001  # the edge of the process; the message may quote the file
        return {"raised": type(error).__name__}


def _send_contents(
    contents: Iterable[tuple[JSON, Iterable[bytes]]], answers: BinaryIO, max_description_bytes: int
) -> bool:
    """Written as they are found: the pipe holds the reader up until the service has taken what is in it.

    False: a description is longer than any answer may be.
    """
    for description, chunks in contents:
        message = encode_message({"content": description})
        if len(message) > max_description_bytes:
            return False
        answers.write(message)
        answers.flush()
        for chunk in chunks:
            for start in range(0, len(chunk), MAX_CHUNK_BYTES):
                piece = chunk[start : start + MAX_CHUNK_BYTES]
                answers.write(encode_message({"bytes": len(piece)}))
                answers.write(piece)
                answers.flush()
    return True


def _find_reader(function: str) -> Any:  # Any: Reader or ContentsReader, as the request says
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)
