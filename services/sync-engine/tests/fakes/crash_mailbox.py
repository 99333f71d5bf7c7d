"""The mailbox of the crash tests: the same in the process that dies and in the one that comes after it."""

from datetime import timedelta

from fake_mailbox import FakeClock, FakeGmail, FakeMailbox, FakeOutlook, File
from sync_harness import START

MAILS = 8
TAKEN = sorted(f"m{number}" for number in range(MAILS))


def crash_mailbox(provider: str) -> FakeMailbox:
    """Eight mails with an invoice and a text each, over several pages; one is from before the start."""
    clock = FakeClock()
    mailbox = FakeOutlook(clock) if provider == "outlook" else FakeGmail(clock)
    files = [File(), File(b"hello", "notes.txt", "text/plain")]
    for message_id in TAKEN:
        mailbox.deliver(message_id, *files)
    mailbox.deliver("old", *files, received_at=START - timedelta(days=1))
    return mailbox
