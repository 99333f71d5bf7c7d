"""No pattern that reads pages takes a time that grows with the square of a line: a cell has 300 letters, a line 12,000.

Steps of a pattern are counted by nobody. So the texts that may hold one up are read off its parts (`slow_patterns.py`),
few of them and for few patterns, and are of such a length that a pattern of squared time does not end.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from slow_patterns import list_slow_texts

import ingestion.extract

_LENGTH = 400_000
_LENGTH_OF_ONE_START = 2_000  # a pattern that begins at one place alone is slow only if repeats are within repeats
_MAX_TEXTS = 4  # of one pattern
_METHODS = "search|match|fullmatch|finditer|findall|sub|split"
_ALL_MATCHES = {"finditer", "findall", "sub", "split"}
_ONE_START = {"match", "fullmatch"}
EXEMPT = {
    "ingestion.extract.labels._CLASS_OR_ACCENT",  # it reads our own patterns
}


def list_patterns() -> dict[str, re.Pattern[str]]:
    """By module and name, each once; those in tables too."""
    found: dict[re.Pattern[str], str] = {}
    for module in pkgutil.walk_packages(ingestion.extract.__path__, "ingestion.extract."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in _list_within(value):
                found.setdefault(pattern, f"{module.name}.{name}")
    return {f"{name}#{number}": pattern for number, (pattern, name) in enumerate(found.items())}


def _list_within(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for item in (*value, *value.values()):
            yield from _list_within(item)
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _list_within(item)


@cache
def _read_source(module: str) -> str:
    """Of a module; of all of them, where `module` is that of the package."""
    folder = Path(ingestion.extract.__path__[0])
    own = folder.joinpath(*module.split(".")[2:]).with_suffix(".py")
    return "\n".join(file.read_text() for file in ([own] if own.is_file() else sorted(folder.rglob("*.py"))))


def list_methods(name: str) -> set[str]:
    """How a pattern is called; one that is handed on, or stands in a table, is searched for."""
    module, _, own = name.rpartition(".")
    source = _read_source(module if own.startswith("_") else "ingestion.extract")
    return set(re.findall(rf"\b{re.escape(own)}\.({_METHODS})\b", source)) or {"search"}


def read_to_end(pattern: re.Pattern[str], method: str, text: str) -> int:
    if method in _ALL_MATCHES:
        return sum(1 for _ in pattern.finditer(text))
    return int(getattr(pattern, method)(text) is not None)


@pytest.mark.timeout(150)  # it takes seconds; one pattern of squared time would not end
def test_no_pattern_takes_a_time_that_grows_with_the_square_of_a_text() -> None:
    for number, pattern in list_patterns().items():
        name = number.partition("#")[0]
        if name in EXEMPT:
            continue
        for piece in list_slow_texts(pattern)[:_MAX_TEXTS]:
            for method in list_methods(name):
                length = _LENGTH_OF_ONE_START if method in _ONE_START else _LENGTH
                read_to_end(pattern, method, piece * (length // len(piece)))


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        (r"(?:^|/)\W*(?:item|text)", "//"),
        (r"\bstorno.*\bnote\b", "storno "),
        (r"\d[\d.,]*\s+in total", "1."),
        (r"(?=[\w./-]*\d)[\w./-]{2,40}", "a"),
        (r"(?:[a-z]+-?)+:", "a"),
    ],
)
def test_what_may_hold_a_pattern_up_is_read_off_its_parts(pattern: str, piece: str) -> None:
    assert piece in list_slow_texts(re.compile(pattern))


@pytest.mark.parametrize("pattern", [r"^\W*item", r"/\W{0,8}item", r"\w+", r"item\s*:", r"a[^a]*b"])
def test_nothing_holds_up_what_begins_once_or_ends_soon(pattern: str) -> None:
    assert list_slow_texts(re.compile(pattern)) == []
