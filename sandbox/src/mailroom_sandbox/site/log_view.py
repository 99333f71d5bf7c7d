"""The logs of a site for people: the JSON lines of all processes in columns, as they are written."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

# Said by a line's other columns, or by nothing that a person looks for.
_NO_FACTS = {"event", "level", "timestamp", "process", "instance_id", "logger"}
_STYLES = {"debug": "dim", "info": "", "warning": "yellow", "error": "red", "critical": "bold red"}
_LEVELS = tuple(_STYLES)
_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class LogFilter:
    """`least_level` hides what is below it; `name` shows one process only. Lines that are no JSON count as info."""

    least_level: str = "debug"
    name: str | None = None

    def shows(self, level: str) -> bool:
        return _LEVELS.index(level if level in _LEVELS else "info") >= _LEVELS.index(self.least_level)


def format_line(name: str, line: str, log_filter: LogFilter, *, width: int = 22) -> Text | None:
    """One line in columns: time, level, process, event, facts. None: it is not shown."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or "event" not in fields:
        return Text(f"{'':13}{'':8} {name:{width}} {line}", style="dim") if log_filter.shows("info") else None
    level = str(fields.get("level", "info"))
    if not log_filter.shows(level):
        return None
    facts = " ".join(f"{key}={_format_value(value)}" for key, value in fields.items() if key not in _NO_FACTS)
    moment = str(fields.get("timestamp", ""))[11:23]
    trace = fields.get("exception")
    text = f"{moment:13}{level:8} {name:{width}} {fields['event']}  {facts}".rstrip()
    if trace:
        text = text.replace(f"exception={_format_value(trace)}", "").rstrip() + "\n" + str(trace)
    return Text(text, style=_STYLES.get(level, ""))


def follow_logs(folder: Path, log_filter: LogFilter, *, last_lines: int, follow: bool) -> Iterator[Text]:
    """The last lines of each file, then what is added, in the order in which it is found.

    A file that becomes shorter was begun anew by a restart.
    """
    positions: dict[Path, int] = {}
    while True:
        for path in sorted(folder.glob("*.log")):
            if log_filter.name not in (None, path.stem):
                continue
            lines, positions[path] = _read_new_lines(path, positions.get(path), last_lines)
            shown = (format_line(path.stem, line, log_filter) for line in lines)
            yield from (text for text in shown if text is not None)
        if not follow:
            return
        time.sleep(_POLL_S)


def _read_new_lines(path: Path, position: int | None, last_lines: int) -> tuple[list[str], int]:
    """Whole lines only: the rest of one that is being written comes with the next look."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        start = 0 if position is None or position > size else position
        file.seek(start)
        content = file.read(size - start)
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.decode(errors="replace").splitlines()
    return (lines[-last_lines:] if position is None else lines), start + len(whole)


def _format_value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f'"{text}"' if " " in text else text
