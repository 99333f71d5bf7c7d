"""The mails to deliver: `.eml` files, each known by the hash of its content."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack.home import find_checkout

SAMPLES = find_checkout() / "sandbox" / "mails"


@dataclass(frozen=True, slots=True)
class Mail:
    """`name` is the path within the folder it was found in."""

    name: str
    path: Path
    sha256: str


def find_mails(folder: Path) -> list[Mail]:
    """All `.eml` files below the folder, one of each content."""
    if not folder.is_dir():
        raise Fatal(f"MAILS={folder}: there is no such folder")
    found: dict[str, Mail] = {}
    for path in sorted(path for path in folder.rglob("*.eml") if path.is_file()):
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        found.setdefault(sha256, Mail(path.relative_to(folder).as_posix(), path, sha256))
    if not found:
        raise Fatal(f"MAILS={folder}: there is no .eml file in it")
    return list(found.values())
