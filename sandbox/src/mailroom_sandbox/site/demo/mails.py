"""The mails to deliver: `.eml` files, each known by the hash of its content and delivered once to a mailbox."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mailroom_common.errors import Fatal
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.stack.home import find_checkout, read_json, write_json

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
        raise Fatal(f"MAILS={folder}: there is no folder of that name")
    found: dict[str, Mail] = {}
    for path in sorted(path for path in folder.rglob("*.eml") if path.is_file()):
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        found.setdefault(sha256, Mail(path.relative_to(folder).as_posix(), path, sha256))
    if not found:
        raise Fatal(f"MAILS={folder}: there is no .eml file in it")
    return list(found.values())


async def deliver_mails(
    control: ControlClient, provider: str, address: str, mails: Iterable[Mail], remembered: Path
) -> tuple[dict[Mail, str], int]:
    """Message ids of all these mails, and how many were delivered just now.

    What is in the mailbox counts as delivered, and so does what we remember: somebody may have removed it there.
    """
    kept: dict[str, dict[str, str]] = read_json(remembered, {})
    there = {item["mime_sha256"]: item["message_id"] for item in await control.list_messages(address, provider)}
    known = {**kept.get(address, {}), **there}
    new = 0
    found: dict[Mail, str] = {}
    for mail in mails:
        if mail.sha256 not in known:
            [known[mail.sha256]] = await control.deliver_mail(mail.path.read_bytes(), address, provider=provider)
            new += 1
        found[mail] = known[mail.sha256]
    write_json(remembered, {**kept, address: known})
    return found, new
