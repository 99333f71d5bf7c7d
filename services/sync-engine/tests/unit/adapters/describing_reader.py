"""A reader that describes what its file says: run by `test_parser_containers` inside the parser process."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from mailroom_common.parser import JSON


def describe_as_told(file: BinaryIO, _arguments: Mapping[str, JSON]) -> Iterator[tuple[JSON, Iterable[bytes]]]:
    for description in json.load(file):
        yield description, [b"%PDF-"]


def find_server(_file: BinaryIO, _arguments: Mapping[str, JSON]) -> JSON:
    return os.getppid()
