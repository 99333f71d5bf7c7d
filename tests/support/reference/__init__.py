"""Generates docs/reference.md from the code: log events, metrics, enumerated values, topics, tables and settings.

Nothing in the page names a line number or depends on the order of files, so that two branches that touch different
things merge into the same page. `find_gaps` names what the page would leave unexplained.
"""

from dataclasses import dataclass
from pathlib import Path

from reference.enums import read_enums
from reference.log_events import read_log_events
from reference.metrics import read_metrics
from reference.settings import read_settings
from reference.tables import read_tables
from reference.topics import read_topics

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference.md"

_HEAD = """# Reference

Generated from the code by `make reference`; a test holds that it is current. Each meaning is written where the thing is
defined: in the comment above a log call, in `metrics.py`, beside the value of an enum, beside the column in the
migration, beside the field of a settings class.
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """The page, and one sentence for each thing that has no meaning written beside it."""

    page: str
    gaps: list[str]


def build_reference() -> Reference:
    sections = [
        read_log_events(ROOT),
        read_metrics(),
        read_enums(ROOT),
        read_topics(ROOT),
        read_tables(ROOT),
        read_settings(ROOT),
    ]
    page = "\n".join([_HEAD, *(section.text for section in sections)])
    return Reference(page=page, gaps=[gap for section in sections for gap in section.gaps])
