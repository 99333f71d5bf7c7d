"""Delivers mails to the providers at a steady rate, and keeps which contents each of them brought."""

import asyncio
import contextlib
import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whole_site import mail, pdf

from mail_ledger.comparison import DeliveredMail
from mailroom_sandbox.provider_doubles.client import ControlClient, ControlError

_REPEATED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Mailbox:
    provider: str
    address: str
    doc_source_id: str


@dataclass(slots=True)
class MailFlow:
    """`contents_by_mail` is the SHA-256 of a mail's source to those of its attachments."""

    control: ControlClient
    mailboxes: Sequence[Mailbox]
    mails_per_second: float
    seed: int
    contents_by_mail: dict[str, tuple[str, ...]] = field(default_factory=dict)
    delivered: int = 0

    async def deliver_until(self, ending: asyncio.Event) -> None:
        """A mail that is late is made up for: the rate holds over the run, not from mail to mail."""
        started_s = time.monotonic()
        for number, (mailbox, source) in enumerate(self._make_mails()):
            pause_s = started_s + number / self.mails_per_second - time.monotonic()
            if pause_s > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ending.wait(), pause_s)
            if ending.is_set():
                return
            await self._deliver(mailbox, source)

    async def deliver(self, number: int) -> None:
        """So many mails at once, for a check that needs no faults."""
        for _, (mailbox, source) in zip(range(number), self._make_mails(), strict=False):
            await self._deliver(mailbox, source)

    async def _deliver(self, mailbox: Mailbox, source: bytes) -> None:
        """Where no answer comes in time, the mail may have arrived or not: the ledger says, not this count."""
        try:
            await self.control.deliver_mail(source, mailbox.address, provider=mailbox.provider)
        except ControlError as error:
            print(f"· a mail to {mailbox.address} was perhaps not delivered: {error}", flush=True)
        self.delivered += 1

    def _make_mails(self) -> Iterator[tuple[Mailbox, bytes]]:
        """Each with a content of its own, and now and then one that repeats an earlier content of its mailbox."""
        chance = random.Random(f"{self.seed}-{self.delivered}")
        latest: dict[Mailbox, bytes] = {}
        number = self.delivered
        while True:
            mailbox = chance.choice(self.mailboxes)
            content = pdf(f"{self.seed}-{number}")
            if mailbox in latest and chance.random() < _REPEATED_SHARE:
                content = latest[mailbox]
            latest[mailbox] = content
            source = mail(content, subject=f"Invoice {number}")
            self.contents_by_mail[hashlib.sha256(source).hexdigest()] = (hashlib.sha256(content).hexdigest(),)
            yield mailbox, source
            number += 1


async def read_ledger(
    control: ControlClient, mailboxes: Sequence[Mailbox], contents_by_mail: Mapping[str, tuple[str, ...]]
) -> list[DeliveredMail]:
    """What the providers hold. A mail that the flow did not make is a KeyError: then the ledger is not ours."""
    return [
        DeliveredMail(mailbox.doc_source_id, row["message_id"], contents_by_mail[row["mime_sha256"]])
        for mailbox in mailboxes
        for row in await control.list_messages(mailbox.address, mailbox.provider)
    ]
