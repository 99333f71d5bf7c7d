"""Generates docs/reference.md, docs/settings.md, docs/kafka-acls.md and .env.example from the code.

Nothing in the pages names a line number or depends on the order of files, so that two branches that touch different
things merge into the same page. `find_gaps` names what the pages would leave unexplained.
"""

from dataclasses import dataclass
from pathlib import Path

from reference.enums import read_enums
from reference.kafka_acls import read_kafka_acls
from reference.log_events import read_log_events
from reference.metrics import read_metrics
from reference.settings import read_settings
from reference.tables import read_tables
from reference.topics import read_topics

ROOT = Path(__file__).parents[3]

_HEAD = """# Reference

Generated from the code by `make reference`; a test holds that it is current. Each meaning is written where the thing is
defined: in the comment above a log call, in `metrics.py`, beside the value of an enum, beside the column in the
migration. The settings have a page of their own: [settings.md](settings.md).
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """The generated files by their path in the checkout, and a sentence for each thing without a meaning beside it."""

    files: dict[str, str]
    gaps: list[str]


def build_reference() -> Reference:
    sections = [read_log_events(ROOT), read_metrics(), read_enums(ROOT), read_topics(ROOT), read_tables(ROOT)]
    settings = read_settings(ROOT)
    return Reference(
        files={
            "docs/reference.md": "\n".join([_HEAD, *(section.text for section in sections)]),
            "docs/settings.md": settings.page,
            "docs/kafka-acls.md": read_kafka_acls(),
            ".env.example": settings.example,
        },
        gaps=[*(gap for section in sections for gap in section.gaps), *settings.gaps],
    )
