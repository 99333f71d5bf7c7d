"""Delivers mails to a mailbox, each content once, also over restarts of everything."""

from collections.abc import Iterable
from pathlib import Path

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.mails import Mail
from mailroom_sandbox.site.stack.home import read_json, write_json


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
