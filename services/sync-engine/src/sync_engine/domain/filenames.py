"""Names of attachments, as strangers give them: for people to read, never to open a file by."""

import unicodedata

_MOST_CHARACTERS = 200
_LONGEST_EXTENSION = 10


def clean(raw: str | None) -> str | None:
    """The last piece of what may be a path, without control and direction characters; None when nothing is left."""
    if raw is None:
        return None
    piece = raw.replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    visible = "".join(" " if character.isspace() else character for character in piece if not _is_unseen(character))
    name = " ".join(visible.split())
    if not name.strip(". "):
        return None
    return _shortened(name)


def extension(name: str | None) -> str:
    """In lower case and without the dot; empty when there is none."""
    stem, dot, ending = (name or "").rpartition(".")
    return ending.strip().lower() if dot and stem and len(ending) <= _LONGEST_EXTENSION else ""


def _is_unseen(character: str) -> bool:
    # Cf holds the direction overrides that make `fdp.exe` read as `exe.pdf`; Cs cannot be stored.
    return not character.isspace() and unicodedata.category(character) in {"Cc", "Cf", "Cs"}


def _shortened(name: str) -> str:
    if len(name) <= _MOST_CHARACTERS:
        return name
    ending = extension(name)
    tail = f".{ending}" if ending else ""
    return name[: _MOST_CHARACTERS - len(tail)] + tail
