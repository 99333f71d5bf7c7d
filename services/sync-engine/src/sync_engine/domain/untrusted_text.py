"""Texts and file names of untrusted mail, made safe to store and to show; no file is ever opened by such a name."""

import unicodedata
from dataclasses import replace

from mailroom_common.providers.types import MessageSummary
from mailroom_common.providers.untrusted_text import clean_text

_MAX_FILENAME_CHARACTERS = 200
_MAX_EXTENSION_CHARACTERS = 10


def clean_summary(summary: MessageSummary) -> MessageSummary:
    return replace(
        summary,
        internet_message_id=clean_text(summary.internet_message_id),
        conversation_id=clean_text(summary.conversation_id),
        subject=clean_text(summary.subject),
        sender_address=clean_text(summary.sender_address),
        sender_name=clean_text(summary.sender_name),
        importance=clean_text(summary.importance),
        categories=tuple(clean_text(category) or "" for category in summary.categories),
    )


def clean_filename(raw: str | None) -> str | None:
    """The last segment of what may be a path, without control and direction characters; None when nothing is left."""
    if raw is None:
        return None
    last_segment = raw.replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    visible = "".join(
        " " if character.isspace() else character for character in last_segment if not _is_invisible(character)
    )
    name = " ".join(visible.split())
    if not name.strip(". "):
        return None
    return _shorten_filename(name)


def file_extension(name: str | None) -> str:
    """In lower case and without the dot; empty when there is none."""
    stem, dot, ending = (name or "").rpartition(".")
    return ending.strip().lower() if dot and stem and len(ending) <= _MAX_EXTENSION_CHARACTERS else ""


def _is_invisible(character: str) -> bool:
    # Cf holds the direction overrides that make `fdp.exe` read as `exe.pdf`; Cs cannot be stored.
    return not character.isspace() and unicodedata.category(character) in {"Cc", "Cf", "Cs"}


def _shorten_filename(name: str) -> str:
    if len(name) <= _MAX_FILENAME_CHARACTERS:
        return name
    ending = file_extension(name)
    tail = f".{ending}" if ending else ""
    return name[: _MAX_FILENAME_CHARACTERS - len(tail)] + tail
