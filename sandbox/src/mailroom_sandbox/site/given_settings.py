"""The settings that a site was given: the environment and a `.env` file, and where each of them stands."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dotenv.parser import parse_stream

from mailroom_common.settings import PREFIX
from mailroom_sandbox.site.stack.home import find_checkout


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """`lines` says file and line of what the file brought; `mistakes` are sentences about lines that say nothing."""

    values: Mapping[str, str]
    lines: Mapping[str, str] = field(default_factory=dict)
    mistakes: tuple[str, ...] = ()


def read_given_settings() -> GivenSettings:
    """The environment goes before the file, and an empty value of a setting counts as not given."""
    path = Path(os.environ.get("MAILROOM_ENV_FILE") or find_checkout() / ".env")
    written, lines, mistakes = _read_env_file(path)
    merged = {**written, **os.environ}
    return GivenSettings(
        values={name: value for name, value in merged.items() if value or not name.startswith(PREFIX)},
        lines={name: line for name, line in lines.items() if name not in os.environ},
        mistakes=tuple(mistakes),
    )


def _read_env_file(path: Path) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Values, lines and mistakes. A file that is named and not there is a mistake; without a `.env` there is none."""
    values: dict[str, str] = {}
    lines: dict[str, str] = {}
    mistakes: list[str] = []
    if not path.exists() or path.is_dir():
        is_named = bool(os.environ.get("MAILROOM_ENV_FILE"))
        return values, lines, [f"MAILROOM_ENV_FILE is wrong: there is no file {path}."] if is_named else []
    with path.open(encoding="utf-8") as file:
        for binding in parse_stream(file):
            place = f"{path}, line {_first_line(binding.original.string, binding.original.line)}"
            if binding.error or (binding.key is not None and binding.value is None):
                mistakes.append(f"{place}: this is no line of the form NAME=value.")
            elif binding.key is not None and binding.value is not None:
                if binding.key in values:
                    first = lines[binding.key].rpartition(", ")[2]
                    mistakes.append(f"{place}: {binding.key} is set twice in this file, first in {first}.")
                values[binding.key], lines[binding.key] = binding.value, place
    return values, lines, mistakes


def _first_line(text: str, line: int) -> int:
    """Empty lines before a binding count to it."""
    return line + len(text[: len(text) - len(text.lstrip())].splitlines())
