"""The log events: each `log.<level>("event", ...)` and `log_event="event"` of the packages, by name."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reference.sources import Section, Source, format_table, read_sources

_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3, "exception": 3, "critical": 4}
_LOGGERS = {"log", "_log", "logger", "_logger"}
# What structlog itself understands is no fact of the event.
_NO_FIELDS = {"exc_info", "stack_info", "log_event", "initial_s", "max_s"}
# `mailroom_common.retries` logs a failed attempt as the event that it is given.
_RETRY_EVENT = "log_event"
_RETRY_FIELDS = {"error", "retry_in_s"}
# The last word, or the one before `by_another`, `too_late` and the like, says what happened to the subject.
_PARTICIPLES = (
    r"\w+ed|begun|bound|built|cut|done|driven|forgotten|found|gone|held|hidden|kept|known|late|led|left|lost|made|"
    r"met|missing|ready|read|rebuilt|reset|said|seen|sent|set|shown|shut|stuck|taken|torn|unreachable|unreadable|"
    r"unavailable|unusable|unknown|withdrawn|written|not_\w+able"
)
_NAME = re.compile(rf"[a-z][a-z0-9]*(_[a-z0-9]+)*_({_PARTICIPLES})(_[a-z0-9]+)*")


@dataclass(slots=True)
class _Event:
    levels: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    meanings: list[str] = field(default_factory=list)


def read_log_events(root: Path) -> Section:
    events: dict[str, _Event] = {}
    gaps = []
    for source in read_sources(root):
        for call in log_calls(source.tree):
            name = event_name(call)
            if name is None:
                gaps.append(f"log event: {source.module} logs something else than a constant name")
            else:
                _add_call(events.setdefault(name, _Event()), source, call)
    for name, event in sorted(events.items()):
        if not _NAME.fullmatch(name):
            gaps.append(f"log event: {name} is not named `subject_participle` ({', '.join(sorted(event.modules))})")
        if not event.meanings and any(_LEVELS[level] >= _LEVELS["warning"] for level in event.levels):
            gaps.append(f"log event: {name} ({', '.join(sorted(event.modules))}) has no comment above its call")
    rows = [
        [f"`{name}`", _format_levels(event), _format_words(event.modules), _format_words(event.fields), _meaning(event)]
        for name, event in sorted(events.items())
    ]
    text = (
        "## Log events\n\nJSON lines on stdout. Every line also has `timestamp`, `level`, `process` and, where set,"
        " `instance_id`.\n\n" + format_table(("event", "level", "module", "fields", "meaning"), rows)
    )
    return Section(text, gaps)


def log_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _retry_event(node) is not None:
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEVELS:
            logger = node.func.value
            # What logs in the name of its caller: the caller's `log_event` is listed instead.
            if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == _RETRY_EVENT:
                continue
            name = (
                logger.id if isinstance(logger, ast.Name) else logger.attr if isinstance(logger, ast.Attribute) else ""
            )
            if name in _LOGGERS:
                yield node


def event_name(call: ast.Call) -> str | None:
    """The constant that the event is named by, None when it is none."""
    named = _retry_event(call) or (call.args[0] if call.args else None)
    return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else None


def _retry_event(call: ast.Call) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == _RETRY_EVENT), None)


def _add_call(event: _Event, source: Source, call: ast.Call) -> None:
    event.fields |= {keyword.arg or "…" for keyword in call.keywords} - _NO_FIELDS
    if _retry_event(call) is not None:
        event.levels.add("warning")
        event.fields |= _RETRY_FIELDS
    elif isinstance(call.func, ast.Attribute):
        event.levels.add(call.func.attr)
    event.modules.add(source.module)
    meaning = source.comment_above(call.lineno)
    if meaning and meaning not in event.meanings:
        event.meanings.append(meaning)


def _format_levels(event: _Event) -> str:
    return ", ".join(sorted({"error" if level == "exception" else level for level in event.levels}))


def _format_words(words: set[str]) -> str:
    return ", ".join(f"`{word}`" for word in sorted(words))


def _meaning(event: _Event) -> str:
    return " ".join(event.meanings)
